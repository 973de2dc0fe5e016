"""Work whose output is judged: it is listed as in review, and what it used up counts once."""

import uuid

from dcf.core.documents.usage import UsageReport
from dcf.features.work.listing import WorkQuery, WorkStatus
from dcf.values.refusal import Refusal
from tests.features.gates.test_operations import REVIEW, begun, judge, submit
from tests.support.world import World

USED = UsageReport(tokens_in=10)


def listed(world: World, run: str, **query: object) -> list[tuple[str, str]]:
    status = query.get("status")
    expected = status if isinstance(status, WorkStatus) else None
    agent = query.get("agent")
    page = world.work.find_work(
        WorkQuery(limit=10, run=run, status=expected, agent=agent if isinstance(agent, str) else None)
    )
    return [(item.state, str(item.status)) for item in page.items]


def test_what_is_judged_is_in_review_and_of_who_submitted_it(real: World) -> None:
    run, token = begun(real, REVIEW)
    assert listed(real, run, agent="ann") == [("A", "running")]
    submit(real, run, token)
    assert listed(real, run, agent="ann") == [("A", "review")]
    assert listed(real, run, status=WorkStatus.REVIEW) == [("A", "review")]
    assert listed(real, run, status=WorkStatus.RUNNING) == []
    assert listed(real, run, agent=f"x-{uuid.uuid4().hex[:8]}") == []
    judge(real, run)
    assert listed(real, run, agent="ben") == [("B", "ready")]


def test_usage_of_a_submission_counts_once_however_often_it_is_asked_about(real: World) -> None:
    run, token = begun(real, REVIEW)
    for _ in range(3):
        assert isinstance(submit(real, run, token, usage=USED), Refusal)
    assert real.usages.of_run(run).total["reports"] == 1
    judge(real, run)
    submit(real, run, token, usage=USED)
    assert real.usages.of_run(run).total == {"tokens_in": 10, "reports": 1}


def test_usage_of_rework_counts_too(real: World) -> None:
    run, token = begun(real, REVIEW)
    submit(real, run, token, usage=USED)
    judge(real, run, verdict="fail")
    submit(real, run, token, {"text": "better"}, usage=USED)
    submit(real, run, token, {"text": "better"}, usage=USED)
    assert real.usages.of_run(run).states["A"] == {"tokens_in": 20, "reports": 2}
