"""`dcf run --assign STATE=AGENT`: the agents of Tasks that are done elsewhere."""

import pytest

from dcf.cli.running.run_request import read_assignments
from dcf.core.definitions.model import read_definition
from dcf.errors import InvalidArgument
from tests.support.tables import rows
from tests.support.workflows.machines import chain

DEFINITION = read_definition(chain("Greet", "Approve"))


def test_several_agents_of_one_task_are_a_pool() -> None:
    assert read_assignments(["Greet=anna", "Greet=bob"], DEFINITION) == {"Greet": ["anna", "bob"]}


@rows("text", ["anna", "Nobody=anna", "Greet=two words", "Greet="])
def test_an_assignment_without_a_task_or_an_agent_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_assignments([text], DEFINITION)
    assert "--assign" in refused.value.message
