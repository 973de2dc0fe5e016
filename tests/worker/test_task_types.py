"""Input and output of task functions whose types are dataclasses or pydantic models: checked, and failed in words."""

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field

from dcf.errors import InvalidArgument
from dcf.worker import TaskFunction, Worker
from dcf.worker.functions import plan_of
from tests.support.agents.worker_tools import FakeTools, event, worker


@dataclass
class Line:
    item: str
    count: int = 1
    due: date | None = None


@dataclass
class Order:
    customer: str
    lines: list[Line] = field(default_factory=list)


class Invoice(BaseModel):
    total: float = Field(ge=0)
    customer_id: str = Field(alias="customerId", default="c")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    due: date


def written(function: TaskFunction, value: Any) -> dict[str, Any]:
    tools = FakeTools(acquire_state_lease={"work": {"input": value}})
    worker(tools, {"A": function}).handle(event())
    (argument,) = tools.arguments("update_workflow_control_plane")
    return argument


def bill(order: Order) -> Invoice:
    return Invoice(total=sum(line.count for line in order.lines), customerId=order.customer)


def test_a_function_works_with_values_of_its_types_and_json_goes_in_and_out() -> None:
    value = {"customer": "Ada", "lines": [{"item": "pen", "count": 2}, {"item": "ink"}]}
    assert written(bill, value)["output_json"] == '{"total":3.0,"customerId":"Ada"}'


def test_lists_of_such_types_and_what_may_be_missing_are_checked_as_well() -> None:
    def late(lines: list[Line] | None) -> list[Line]:
        return [line for line in lines or [] if line.due is not None and line.due < date(2026, 1, 2)]

    assert written(late, [{"item": "a", "due": "2026-01-01"}, {"item": "b", "due": "2026-01-03"}])["output_json"] == (
        '[{"item":"a","count":1,"due":"2026-01-01"}]'
    )
    assert written(late, None)["output_json"] == "[]"


def test_an_input_of_another_form_fails_the_state_with_the_place_and_not_the_value() -> None:
    result = written(bill, {"customer": "Ada", "lines": [{"item": "pen", "count": "secret words"}, {}]})
    assert (result["new_status"], result["error_name"]) == ("failed", "DCF.InvalidInput")
    assert result["error_message"].startswith("The input is not as bill() wants it: lines.0.count: Input should be a")
    assert "lines.1.item: Field required" in result["error_message"]
    assert "secret" not in result["error_message"]
    many = written(bill, {"customer": "Ada", "lines": [{}] * 9})
    assert many["error_message"].endswith("; and 4 more.")
    assert written(bill, 17)["error_message"].startswith("The input is not as bill() wants it: the whole: ")


def test_json_is_read_as_json_also_by_strict_models() -> None:
    def keep(strict: Strict) -> Strict:
        return strict

    assert written(keep, {"due": "2026-02-03"})["output_json"] == '{"due":"2026-02-03"}'
    assert written(keep, {"due": "2026-02-03", "more": 1})["error_name"] == "DCF.InvalidInput"


def test_an_output_of_another_form_fails_the_state() -> None:
    def wrong(total: Any) -> Invoice:
        return {"total": total}  # type: ignore[return-value]

    assert written(wrong, 5)["output_json"] == '{"total":5.0,"customerId":"c"}'
    result = written(wrong, -1)
    assert (result["new_status"], result["error_name"]) == ("failed", "DCF.InvalidOutput")
    assert result["error_message"] == (
        "The output is not as wrong() promises it: total: Input should be greater than or equal to 0."
    )


def test_a_dataclass_with_undeclared_values_fails_the_state_at_any_depth() -> None:
    def careless(count: Any) -> Order:
        return Order(customer="Ada", lines=[Line("pen"), Line("ink", count=count)])

    assert '"count":2' in written(careless, 2)["output_json"]
    result = written(careless, "some secret")
    assert (result["new_status"], result["error_name"]) == ("failed", "DCF.InvalidOutput")
    assert result["error_message"].startswith(
        "The output is not as careless() promises it: lines.1.count: Input should"
    )
    assert "secret" not in result["error_message"]


T = TypeVar("T")


@dataclass
class Page(Generic[T]):
    items: list[T]


def test_a_generic_dataclass_is_checked_whatever_it_is_of() -> None:
    def turned(page: Page[int]) -> Page[str]:
        return Page(items=[str(item) for item in reversed(page.items)])

    assert written(turned, {"items": [1, 2]})["output_json"] == '{"items":["2","1"]}'
    assert written(turned, {"items": ["x"]})["error_name"] == "DCF.InvalidInput"


def test_async_functions_are_checked_alike() -> None:
    async def double(line: Line) -> Line:
        return Line(item=line.item, count=2 * line.count)

    assert written(double, {"item": "pen", "count": 4})["output_json"] == '{"item":"pen","count":8,"due":null}'
    assert written(double, {})["error_name"] == "DCF.InvalidInput"


def test_plain_annotations_are_not_checked() -> None:
    def loose(loose: dict[str, int]) -> list[str]:
        return loose  # type: ignore[return-value]

    assert plan_of(loose, "A").read is None
    assert written(loose, "text")["output_json"] == '"text"'


class Unreadable:
    pass


@dataclass
class Odd:
    what: Unreadable


def test_a_type_that_cannot_be_checked_is_told_when_a_worker_starts() -> None:
    def work(odd: Odd) -> Any:
        return odd

    with pytest.raises(InvalidArgument, match=r"The types of work\(\) cannot be checked: .*Unreadable"):
        Worker(FakeTools(), "me", {"A": work})


def test_pydantic_is_imported_only_for_functions_that_name_such_types() -> None:
    code = (
        "import sys\nfrom dcf.worker import Worker, task\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Order: n: int\n"
        "def plain(given: dict) -> list: ...\ndef typed(given: Order): ...\n"
        "Worker(None, 'me', {'A': plain})\nbefore = 'pydantic' in sys.modules\n"
        "Worker(None, 'me', {'A': typed})\nprint(before, 'pydantic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]
