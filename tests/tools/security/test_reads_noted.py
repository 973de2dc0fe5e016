"""The audit trail records reads of other projects, log-ins, log-outs and exports of runs."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.store.access.audit_trail import AuditFilter
from dcf.values.records import replace
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK

pytestmark = pytest.mark.anyio


def noted(application: Application, name: str) -> list[Any]:
    return application.audit.newest(1000, AuditFilter(by=name))


async def test_probing_ids_of_other_projects_is_noted_once_a_minute_with_how_often(alone: Application) -> None:
    owner = key_of(Scope.READ, Scope.WORK, Scope.PLAN)
    run = (await ask(alone, owner, "start_run", workflow_json=ONE_TASK)).payload["workflow_id"]
    prober = key_of(Scope.READ, name=f"key:{secrets.token_hex(6)}")
    prober = replace(prober, project="theirs")
    for workflow_id in (run, *(f"guess-{number}" for number in range(20))):
        assert (await ask(alone, prober, "read_workflow_control_plane", workflow_id=workflow_id))[
            "code"
        ] == "unknown_run"
    (entry,) = noted(alone, prober.name)
    assert (entry.kind, entry.change, entry.outcome) == ("refusal", "read_workflow_control_plane", "unknown_run")
    assert (entry.about["workflow_id"], entry.about["times"]) == (run, "1")


async def test_who_is_bound_to_no_project_probes_nothing(alone: Application) -> None:
    reader = key_of(Scope.READ, name=f"key:{secrets.token_hex(6)}")
    assert (await ask(alone, reader, "read_workflow_control_plane", workflow_id="guess")).code == "unknown_run"
    assert noted(alone, reader.name) == []


async def test_the_entry_of_a_project_names_it_and_has_nothing_else_of_it(alone: Application) -> None:
    caller = key_of(Scope.READ, Scope.WORK, name=f"key:{secrets.token_hex(6)}")
    project = f"p-{secrets.token_hex(4)}"
    await ask(alone, caller, "put_project", project=project, description="what it is about")
    (entry,) = noted(alone, caller.name)
    assert entry.about == {"project": project}


async def test_an_export_is_noted_with_its_first_page(alone: Application) -> None:
    reader = key_of(Scope.READ, Scope.WORK, Scope.PLAN, name=f"key:{secrets.token_hex(6)}")
    run = (await ask(alone, reader, "start_run", workflow_json=ONE_TASK)).payload["workflow_id"]
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = await ask(
            alone, reader, "export_run", workflow_id=run, limit=1, **({"cursor": cursor} if cursor else {})
        )
        cursor, pages = page.payload.get("next_cursor"), pages + 1
    assert pages > 1
    (entry,) = [row for row in noted(alone, reader.name) if row.kind == "read"]
    assert (entry.change, entry.outcome, entry.about) == ("export_run", "ok", {"workflow_id": run})
