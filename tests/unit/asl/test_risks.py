"""Which expressions are marked before they are evaluated."""

from dcf.asl.risks import is_risky
from tests.support.tables import rows


@rows("text", ["$states.input.order", "$total", "total", "$", " 12.5 ", "'text'", '"text"', "true", "null"])
def test_a_path_a_variable_or_a_literal_risks_nothing(text: str) -> None:
    assert not is_risky(text)


@rows("text", ["[1..9]", "$sum(x)", "a & b", "$map(x, f)", "a[b]", "{'a': 1}", "$pad('x', 9)", "a.**", "(x)"])
def test_anything_else_may_take_more_memory_than_there_is(text: str) -> None:
    assert is_risky(text)
