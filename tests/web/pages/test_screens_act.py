"""Actions take the forms of the inbox and of the workflows, as a browser without scripts sends them."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.web.site import build_site
from tests.web.pages.test_inbox_page import SCHEMA, asking, judged
from tests.web.pages.test_workflows_page import INPUT, kept
from tests.web.visitors import Visitor, form

pytestmark = pytest.mark.anyio


async def logged_in(application: Application, agent_id: str | None = None) -> Visitor:
    visitor = Visitor(build_site(application, may_act=True))
    key = application.keys.create(tuple(Scope), agent_id=agent_id, label=None, life_s=None)
    assert (await visitor.log_in(key.text)).status_code == 303
    return visitor


async def checked(visitor: Visitor, page: str, check: str, tool: str, more: dict[str, Any]) -> str:
    """The page after a form was checked, and what the check showed was confirmed by one button."""
    filled = form((await visitor.get(page)).text, check)
    sent = await visitor.post(check, filled | more)
    assert sent.status_code == 200, sent.text
    done = await visitor.post(f"/ui/act/{tool}", form(sent.text, f"/ui/act/{tool}"))
    return (await visitor.follow(done)).text


async def test_a_task_with_a_schema_is_answered(keyed: Application) -> None:
    run, visitor = asking(keyed, {"schema": SCHEMA}), await logged_in(keyed, "alice")
    more = {"choice": "approve", "answer_json/amount": "8", "comment": "fine"}
    page = f"/ui/inbox?run={run}&state=Ask"
    assert "✔" in await checked(visitor, page, "/ui/validate/answer", "answer_human_task", more)
    assert keyed.runs.read(run, ("Ask",)).word == "succeeded"


async def test_a_verdict_with_criteria_is_given(keyed: Application) -> None:
    run, visitor = judged(keyed), await logged_in(keyed, "rita")
    more = {f"criteria/criterion {number}/passed": "true" for number in (1, 2)} | {"verdict": "pass"}
    page = f"/ui/inbox?run={run}&state=Write"
    assert "✔" in await checked(visitor, page, "/ui/validate/answer", "decide_gate", more)
    assert keyed.runs.read(run, ("Write",)).word == "succeeded"


async def test_a_run_is_started(keyed: Application) -> None:
    (name, _), visitor = kept(keyed, workflow_input_schema=INPUT), await logged_in(keyed)
    run = f"r-{secrets.token_hex(4)}"
    more = {"input_json/order/id": "o-7", "workflow_id": run}
    await checked(visitor, f"/ui/workflows/{name}", "/ui/validate/start", "start_run", more)
    assert keyed.runs.read(run).word == "running"
