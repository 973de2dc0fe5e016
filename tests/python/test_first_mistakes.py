"""First mistakes of a newcomer: the error says what to do, in Python's words, and near misses are accepted."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pydantic
import pytest

import dcf
import dcf.client
import dcf.webhooks
import dcf.worker
from dcf import testing
from dcf.client import Client
from dcf.errors import DcfError, InvalidArgument, StateError
from tests.python.conftest import greeter
from tests.python.workflows import EMPTY, HELLO
from tests.support.tables import rows
from tests.support.waiting import PATIENCE_S


@dataclass
class Claim:
    """An input."""

    customer: str
    day: datetime


class Person(pydantic.BaseModel):
    """An input of an alias."""

    name: str = pydantic.Field(alias="full name")


CLAIM = Claim("Ada", datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
AS_JSON = {"customer": "Ada", "day": "2026-01-02T03:04:00+00:00"}


@dcf.task
def customer_of(claim: Claim) -> str:
    """Return who claims."""
    return claim.customer


@dcf.flow
def customer(claim: Claim) -> str:
    """Have a flow with a record as its input."""
    return customer_of(claim)


@rows(
    ("call", "text"),
    [
        (lambda client: client.start(customer, CLAIM), "Write `client.start(customer, customer.input(claim=...))`."),
        (lambda client: client.start(customer, [1]), "Write `client.start(customer, customer.input(claim=...))`."),
        (lambda client: client.start("expense.json"), 'Pass the path of the file: `pathlib.Path("expense.json")`.'),
        (lambda client: client.start('{"asl": {}}'), "Pass the document itself: `json.loads(text)`."),
        (lambda client: client.start(Path("expense.py")), "Import the flow from it, and pass that"),
        (lambda client: client.get("nobody"), "`client.list()` lists the runs."),
        (lambda client: client.start("never-kept"), "Pass `workflow`, the document itself"),
        (lambda client: list(client.list(since=datetime(2026, 1, 1))), "Make it with one: datetime.now(UTC)."),  # noqa: DTZ001
        (lambda client: list(client.list(since="2026-01-01T00:00")), "Then call `client.list()` again."),
        (lambda client: client.start(EMPTY, {"a": {1}}), "Correct the argument and call again"),
        (lambda client: client.start(customer, {"b": 1}), "It is customer(claim:"),
    ],
)
def test_the_text_of_an_error_ends_with_what_to_do_in_python(
    served: Client, call: Callable[[Client], object], text: str
) -> None:
    with pytest.raises(DcfError) as raised:
        call(served)
    assert text in str(raised.value)
    assert str(raised.value) == f"{raised.value.message} {raised.value.hint}"
    assert "_json" not in str(raised.value)


def test_an_argument_that_does_not_exist_names_the_similar_one(served: Client) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'timeout'\. Did you mean 'timeout_s'\?"):
        served.result("run-1", timeout=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'workflow_id'$"):
        served.result()  # type: ignore[call-arg]


def test_an_error_without_advice_of_its_own_is_its_message_alone() -> None:
    assert str(StateError("Broken", "It broke.")) == "It broke."
    assert str(dcf.TaskFailed("Broken", "It broke.")) == "It broke."


@rows(
    ("value", "as_json"),
    [
        (CLAIM, AS_JSON),
        ([CLAIM], [AS_JSON]),
        ({"claim": CLAIM}, {"claim": AS_JSON}),
        (Person.model_validate({"full name": "Ada"}), {"full name": "Ada"}),
    ],
)
def test_dataclasses_and_models_are_taken_as_input_and_as_output(
    served: Client, run_id: str, value: Any, as_json: Any
) -> None:
    run = f"{run_id}-{type(value).__name__}"
    served.start(EMPTY, value, workflow_id=run)
    assert served.result(run, timeout_s=PATIENCE_S) == as_json
    served.start(HELLO, workflow_id=f"{run}-2", agents="ann")
    claim = served.claim_work("ann", workflow_id=f"{run}-2")
    assert claim is not None
    claim.complete(value)
    assert served.result(f"{run}-2") == as_json


def test_a_record_is_taken_as_an_argument_of_a_flow_and_as_the_output_of_a_function(
    served: Client, run_id: str, agent: str
) -> None:
    with served.serve(customer, agent):
        served.start(customer, {"claim": CLAIM}, workflow_id=run_id, agents=agent)
        assert served.result(run_id, timeout_s=PATIENCE_S) == "Ada"
    with served.serve({"Greet": lambda _: CLAIM}, f"{agent}-2"):
        served.start(HELLO, workflow_id=f"{run_id}-2", agents=f"{agent}-2")
        assert served.result(f"{run_id}-2", timeout_s=PATIENCE_S) == AS_JSON


def test_a_record_is_taken_in_tests_and_simulations() -> None:
    assert testing.run(customer, {"claim": CLAIM}).output == "Ada"
    assert testing.run(HELLO, {}, answers={"Greet": CLAIM}).output == AS_JSON
    assert dcf.simulate(EMPTY["asl"], CLAIM)["output"] == AS_JSON


def test_a_value_that_contains_itself_is_refused_with_its_depth(served: Client) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidArgument, match="nested deeper than 64 levels"):
        served.start(EMPTY, endless)


def test_a_record_is_taken_as_the_details_of_an_entry(served: Client, run_id: str) -> None:
    served.start(HELLO, workflow_id=run_id)
    served.add_journal_entry(run_id, "log", "so", agent_id="ann", details=CLAIM)
    (entry,) = served.read_journal(run_id)
    assert entry.details == AS_JSON


def test_times_are_datetimes_with_a_zone(client: Client, served: Client, run_id: str, agent: str) -> None:
    before = datetime.now(UTC) - timedelta(hours=1)
    with greeter(served, agent):
        client.start(HELLO, {"name": "Ada"}, agents=agent, workflow_id=run_id)
        client.result(run_id, timeout_s=PATIENCE_S)
    run = client.get(run_id)
    events = list(client.events(run_id))
    (listed,) = (row for row in client.list() if row.workflow_id == run_id)
    moments = [run.created_at, run.finished_at, run.states["Greet"].started_at, listed.created_at, events[0].at]
    assert all(moment is not None and moment.utcoffset() == timedelta() and moment > before for moment in moments)
    assert [event.id for event in client.events(run_id, since=events[-1].at)][-1] == events[-1].id


def test_a_flow_whose_source_is_not_there_is_refused_with_advice(served: Client) -> None:
    names: dict[str, Any] = {"flow": dcf.flow, "__name__": "nowhere"}
    exec("@flow\ndef nowhere(n: int) -> int:\n    return n\n", names)
    with pytest.raises(InvalidArgument, match="Write the flow in a file"):
        served.start(names["nowhere"], {"n": 1})


@rows("package", [dcf, dcf.client, dcf.worker])
def test_an_editor_is_shown_the_names_that_programs_use_and_no_others(package: Any) -> None:
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in dir(package))


def test_a_task_that_is_never_called_is_warned_about_at_start_and_validation(served: Client) -> None:
    def warnings(resource: str, agents: str | None) -> tuple[bool, bool]:
        workflow = {"asl": {"StartAt": "Greet", "States": {"Greet": {**TASK, "Resource": resource}}}}
        text = (served.start(workflow, agents=agents).warnings, served.validate(workflow, agents=agents).warnings)
        started, validated = (any(f"'Greet' ({resource})" in warning for warning in lines) for lines in text)
        return started, validated

    assert warnings("dcf:humans", "ann") == (True, True)  # misspelt
    assert warnings("lambda:greet", None) == (True, False)  # agents may be named at the start
    assert warnings("lambda:greet", "ann") == (False, False)  # the agent does it
    assert warnings("dcf:task:greetings.greet", None) == (False, False)


TASK = {"Type": "Task", "End": True}


@rows("module", [testing, dcf.webhooks, *map(inspect.getmodule, (dcf.flow, dcf.task, dcf.Client, dcf.TaskContext))])
def test_no_public_value_is_of_any_type(module: Any) -> None:
    """`Json` is an alias of Any: the source says which is meant. Implementations of overloads are not shown."""
    text = inspect.getsource(module)
    annotated = [
        line for line in text.splitlines() if ("Any" in line) and line.startswith(("def ", "    def ", "async def "))
    ]
    shown = [line for line in annotated if not line.strip().removeprefix("def ").startswith("_")]
    overloaded = ("def agent(", "def human(", "def signal(", "def task(", "def flow(", "def use(")
    assert [line for line in shown if not line.startswith(overloaded)] == []
