"""Every tool that changes something tells who did it: in the run's history, or in the audit trail."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from dcf.application.application import Application
from dcf.store.access.audit_trail import AuditEntry
from dcf.verbs.registry import TOOLS, ToolSpec
from tests.support.tables import rows
from tests.tools.access import PLANNER, ask, key_of

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]
IN_HISTORY = {"planning", "execution", "notification", "people", "growing", "artifacts", "journal", "gates"}
"""Toolsets whose changes are events of a run (`test_authors.py`)."""
ON_RUNS = {"dcf.tools.verbs.lifecycle", "dcf.tools.verbs.starting", "dcf.features.usage.verbs"}
"""Modules of tools of the toolset "operations" whose changes are events of a run."""


def _changing() -> list[ToolSpec]:
    outside = (spec for spec in TOOLS.values() if spec.toolset not in IN_HISTORY and spec.run.__module__ not in ON_RUNS)
    return [spec for spec in outside if not spec.read_only]


@rows("spec", _changing(), ids=lambda spec: spec.name)
def test_every_tool_that_changes_something_outside_runs_is_recorded(spec: ToolSpec) -> None:
    assert spec.audit
    assert set(spec.audit) <= spec.arguments.model_fields.keys() | spec.answer.model_fields.keys()


async def test_a_change_of_a_document_names_the_key_that_made_it(alone: Application) -> None:
    key = f"doc:{secrets.token_hex(4)}"
    planner = key_of(*PLANNER, name="key:cccccccccccc")
    await ask(alone, planner, "json_create", redis_key=key, initial_json={"secret": "canary"})
    await ask(alone, planner, "json_set", redis_key=key, path="$.a", value_json=1)
    second, first = _about(alone, key)
    assert [first.change, second.change] == ["json_create", "json_set"]
    assert {first.by, second.by} == {planner.name}
    assert second.about == {"redis_key": key, "path": "$.a"}
    assert second.outcome == "ok"
    assert "canary" not in f"{first}{second}"


async def test_the_key_that_was_drawn_is_told(alone: Application) -> None:
    answer = await ask(alone, key_of(*PLANNER), "json_create", initial_json={})
    assert _about(alone, answer["redis_key"])[0].change == "json_create"


async def test_what_was_refused_is_told_with_its_code(alone: Application) -> None:
    key = f"doc:{secrets.token_hex(4)}"
    await ask(alone, key_of(*PLANNER), "json_set", redis_key=key, path="$.a", value_json=1)
    assert _about(alone, key)[0].outcome == "not_found"


async def test_a_change_of_a_file_is_told_before_it_is_made(replica: Replica, tmp_path: Path) -> None:
    application = replica(files_write=(tmp_path,))
    await ask(application, key_of(*PLANNER, name="key:dddddddddddd"), "write_file", path="n.txt", content="canary")
    (entry,) = [item for item in application.audit.newest(200) if item.about.get("path", "").endswith("n.txt")]
    assert (entry.by, entry.change, entry.outcome) == ("key:dddddddddddd", "write_file", "ok")


def _about(application: Application, key: str) -> list[AuditEntry]:
    return [entry for entry in application.audit.newest(200) if entry.about.get("redis_key") == key]
