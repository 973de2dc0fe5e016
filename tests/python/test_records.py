"""A client's records and methods say what tools and verbs say: there is one truth of names, fields and words."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, get_args

import pytest

import dcf
from dcf import client as package
from dcf.client import AsyncClient, Client, arguments, records, steps, watching
from dcf.client.failures import error_of
from dcf.client.reading import read
from dcf.client.rows import read_rows, verb_of
from dcf.core.documents.model import RunStatus, Status
from dcf.core.listing.runs import RunRow
from dcf.errors import DcfError, PlatformUnavailable, RateLimited, ServerUnreachable, ToolCallFailed, UnknownRun
from dcf.features.diagnosis import records as diagnosis_records
from dcf.features.diagnosis.model import Cause, Remedy, RunFinding
from dcf.features.retention.records import DeletedRun
from dcf.runs.views import status as standing
from dcf.runs.views.status import StateView
from dcf.tools.mcp.selection import select_tools
from dcf.verbs.records import runs as run_records
from tests.support.tables import rows

select_tools((), read_only=False)

ROW = RunRow(
    workflow_id="r", status=RunStatus.RUNNING, workflow_name="w", workflow_version=None, definition_sha256="0" * 64,
    tags=(), agents=(), names=(), created_at=None, finished_at=None, usage={"tokens_in": 1},
)  # fmt: skip
REMEDY = Remedy(sentence="Resume it.", tool="resume_run")
FINDING = RunFinding(cause=Cause.PAUSED, sentence="It is paused.", remedy=REMEDY, stuck=True)


CLIENT = dcf.connect("http://127.0.0.1:1/mcp")
"""A method that is never called."""


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


@rows(
    ("kind", "shown"),
    [
        (run_records.ListedRun, ROW.as_json()),
        (diagnosis_records.ExplainedCause, FINDING.as_json()),
        (diagnosis_records.SuggestedRemedy, FINDING.remedy.as_json()),
    ],
    ids=lambda result: getattr(result, "__name__", ""),
)
def test_a_record_has_the_fields_of_what_answers_list(kind: type, shown: Mapping[str, Any]) -> None:
    assert names(kind) == set(shown)
    assert read(kind, shown) is not None


def test_the_summary_of_a_state_has_no_field_that_the_record_lacks() -> None:
    source = inspect.getsource(StateView.summary)
    shown = {line.strip().split('"')[1] for line in source.splitlines() if line.strip().startswith('"')}
    assert names(records.StateDetails) == shown - {""}


def test_a_run_has_the_fields_of_its_summary_its_output_and_its_states() -> None:
    assert names(records.RunDetails) == {*standing._SUMMARY, *standing._MORE_OF_SUMMARY, "output", "states"}


def test_the_words_for_statuses_are_those_of_the_core() -> None:
    assert set(get_args(run_records.RunStatusName)) == {item.value for item in RunStatus}
    assert set(get_args(run_records.StateStatusName)) == {item.value for item in Status}


def test_records_are_frozen_and_unknown_fields_of_a_newer_server_are_left_out() -> None:
    result = read(DeletedRun, {"workflow_id": "r", "existed": True, "of_a_newer_server": 1})
    with pytest.raises(FrozenInstanceError):
        result.existed = False  # type: ignore[misc]  # what is tested


@rows("answer", [{}, {"workflow_id": "r", "findings": 5}, {"findings": [None]}])
def test_an_answer_that_is_none_is_told_in_words(answer: dict[str, Any]) -> None:
    with pytest.raises(ToolCallFailed, match="is no Explained") as failed:
        read(diagnosis_records.ExplainedRun, answer)
    assert "version" in failed.value.hint


def public_methods(kind: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_both_clients_have_the_same_verbs_with_the_same_parameters() -> None:
    first, other = public_methods(Client), public_methods(AsyncClient)
    assert set(first) == set(other)
    own = {"serve", "close"}
    for name in set(first) - own:
        assert inspect.signature(first[name]) == inspect.signature(other[name]), name
        assert inspect.getdoc(first[name]) == inspect.getdoc(other[name]), name


MODULES: Final = (
    watching,
    *(import_module(module.name) for module in iter_modules(steps.__path__, f"{steps.__name__}.")),
)
"""Where the verbs are that take several calls."""


def test_every_verb_is_a_method_and_shows_its_parameters_and_its_documentation() -> None:
    described: dict[str, Any] = {
        name: function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }
    for part in ("pauses", "status_of"):
        del described[part]
    described |= {name: verb_of(name, row) for name, row in read_rows().items() if "steps" not in row}
    assert set(described) == set(public_methods(Client)) - {"serve", "close"}
    for name, verb in described.items():
        method = getattr(CLIENT, name)
        assert list(inspect.signature(method).parameters) == list(inspect.signature(verb).parameters)
        assert method.__doc__ == verb.__doc__


def below(kind: type[DcfError]) -> Iterator[type[DcfError]]:
    for subclass in kind.__subclasses__():
        if subclass.__module__ == "dcf.errors":
            yield subclass
            yield from below(subclass)


def test_a_failed_call_is_raised_as_the_class_of_its_code() -> None:
    mine = {"refused", "run_failed", "wait_timed_out", "state_error"}
    for kind in set(below(DcfError)) - {ToolCallFailed}:
        if kind.code not in mine:
            error = error_of(ToolCallFailed(kind.code, "In words.", "Do this.", {"retry_after_s": 3.5}))
            assert type(error) is kind
            assert (str(error), error.message, error.hint) == ("In words. Do this.", "In words.", "Do this.")
            if isinstance(error, RateLimited | PlatformUnavailable):
                assert error.retry_after_s == 3.5
    assert {type(error_of(ToolCallFailed(code, "x"))) for code in ("closed", "error", *mine)} == {ToolCallFailed}
    assert isinstance(error_of(ToolCallFailed("unknown_run", "x")), UnknownRun)
    assert isinstance(error_of(ToolCallFailed("server_unreachable", "x")), ServerUnreachable)


def test_everything_that_the_package_offers_is_there() -> None:
    assert all(hasattr(package, name) for name in package.__all__)


def test_no_value_of_a_verb_is_of_any_type() -> None:
    signatures = Path(str(arguments.__file__)).parent / "derived" / "methods.pyi"
    texts = [path.read_text("utf-8") for path in (signatures, *(Path(str(module.__file__)) for module in MODULES))]
    text = "".join(texts)
    assert re.findall(r"^    \w+: .*\bAny\b.*,$", text, re.MULTILINE) == []
