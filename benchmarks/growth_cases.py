"""The operations that `benchmarks.growth` times: lists, work, clock, inboxes, retention, audit, and steps of a run."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks import workloads
from benchmarks.growth_site import BUSY, CREW, CROWD, EXPIRING, RARE, SLEEPING, Site, letter_to
from dcf.cli.places.context import HERE, Choice
from dcf.cli.places.here import ToolsHere
from dcf.cli.places.place import Place
from dcf.cli.reading import top
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.lease import Acquire, Release
from dcf.core.lifecycle.retention import Deleted
from dcf.core.listing.runs import Cursor, RunQuery
from dcf.features.health.gauges import GaugeReader
from dcf.features.retention.expiring import EXPIRING as LIST_OF_EXPIRING
from dcf.features.retention.expiring import Expiring
from dcf.features.work.listing import WorkQuery, WorkStatus
from dcf.features.work.operations import TakenWork
from dcf.store.access.audit_trail import AuditFilter
from dcf.values.refusal import Refusal

_PAGE: Final = 50
_DUE: Final = 100
_SOON_S: Final = 60


def nothing(_: Site) -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An operation. `prepare` runs before each time that it is carried out, untimed."""

    name: str
    work: Callable[[Site], object]
    prepare: Callable[[Site], object] = nothing


def _listed(name: str, **filters: object) -> Case:
    query = RunQuery(limit=_PAGE, **filters)  # type: ignore[arg-type]
    return Case(name=f"a page of {_PAGE} runs, {name}", work=lambda site: site.app.run_list.list_runs(query))


def _middle(site: Site) -> object:
    cursor = Cursor(score=(site.began + site.created) // 2, workflow_id="z")
    return site.app.run_list.list_runs(RunQuery(limit=_PAGE, cursor=cursor))


def _work(name: str, agent: str | None) -> Case:
    query = WorkQuery(limit=_PAGE, status=WorkStatus.READY, agent=agent)
    return Case(name=f"find_work, {name}", work=lambda site: site.app.work.find_work(query))


def _claim(name: str, agent: str) -> Case:
    def work(site: Site) -> None:
        wish = Acquire(state="", owner=agent, token=secrets.token_hex(16), ttl_s=_SOON_S)
        claim_work = site.app.work.claim_work(WorkQuery(limit=1, agent=agent), wish)
        assert isinstance(claim_work, TakenWork), claim_work
        site.app.control_plane.release(
            claim_work.workflow_id, Release(state=claim_work.leased.state, token=claim_work.leased.doc.lease.token)
        )

    return Case(name=f"claim any work and release it, {name}", work=work)


def _claim_in_vain(site: Site) -> None:
    wish = Acquire(state="", owner=BUSY, token=secrets.token_hex(16), ttl_s=_SOON_S)
    claim_work = site.app.work.claim_work(WorkQuery(limit=1, agent=BUSY), wish)
    assert isinstance(claim_work, Refusal), claim_work


def _forget_places(site: Site) -> None:
    """Let the next claim begin at the oldest run, also where the last one did not get to the end."""
    site.app.work._left_at.clear()  # noqa: SLF001 - as in a new process


def _look_before(site: Site) -> None:
    """Do what is due because of what was measured before."""
    site.app.clock.pulse()
    site.app.clock.finish(_SOON_S)
    site.app.clock.pulse()  # settles what was delivered


def _look_at_nothing(site: Site) -> None:
    _look_before(site)
    site.app.clock._unchecked = iter(())  # noqa: SLF001 - as after the first looks of a process


def _make_due(site: Site) -> None:
    _look_at_nothing(site)
    site.app.clock._due.bring_forward(site.names[SLEEPING][:_DUE], 0)  # noqa: SLF001 - an entry may be early


def _begin(site: Site) -> None:
    _look_before(site)
    site.app.clock._unchecked, site.app.clock._check_at = None, 0  # noqa: SLF001 - as in a new process


def _expire(site: Site) -> None:
    """Let Redis have removed the keys of this number of runs a moment ago."""
    edited, model = site.copy(EXPIRING, _DUE), site.models[EXPIRING]
    (listing,) = (listing for listing in model.listings if listing.index == LIST_OF_EXPIRING)
    places = ((listing.place(name, site.connections.shards), listing.entry(name)) for name in edited)
    site.connections.send(*(("ZADD", place, site.created, entry) for place, entry in places))
    site.connections.send(*(("DEL", *model.keys_of(name)) for name in edited))


def _take_off(site: Site) -> None:
    assert Expiring(site.connections).take_off() == _DUE


def _delete(site: Site) -> None:
    assert isinstance(site.app.retention.delete(site.names["succeeded"].pop()), Deleted)


def _begin_sweep(site: Site) -> None:
    sweep = site.app.sweep
    if sweep._pages is None:  # noqa: SLF001 - as if an hour had passed
        sweep._pages = sweep._listings.pages(repair=True)  # noqa: SLF001


def _audited(name: str, audit_filter: AuditFilter) -> Case:
    return Case(
        name=f"a page of {_PAGE} audit entries, {name}", work=lambda site: site.app.audit.newest(_PAGE, audit_filter)
    )


def _pass_on(agent: str) -> Callable[[Site], object]:
    """Put an event into an inbox, take the next one and acknowledge it."""

    def work(site: Site) -> None:
        inbox, letter = site.app.inbox, letter_to(agent, secrets.randbits(40))
        inbox.put(agent, letter.event_id, letter.event, run=letter.run, sender=letter.sender)
        taken = inbox.take(agent).message
        assert taken is not None
        inbox.acknowledge(agent, taken.message_id)

    return work


def _whole_run(site: Site) -> None:
    run = workloads.create(site.app.control_plane, workloads.chain(3))
    workloads.carry_out(site.app.control_plane, run, lambda _: {"ok": 1})


CASES: Final = (
    _listed("no filter"),
    Case(name=f"a page of {_PAGE} runs, from the middle", work=_middle),
    _listed("by status", status=RunStatus.SUCCEEDED),
    _listed("by workflow and status", workflow="packed", status=RunStatus.RUNNING),
    _listed("of an agent in most runs", agent=CREW),
    _listed("of an agent in few", agent=RARE),
    _listed("by a tag of few and status", tag=RARE, status=RunStatus.RUNNING),
    _listed("stuck", stuck=True),
    _work("of any agent", None),
    _work("of an agent in most runs", CREW),
    _work("of an agent in few", RARE),
    _claim("an agent in most runs", CREW),
    _claim("an agent in few", RARE),
    Case(name="claim where nothing is ready in a tenth of the live runs", work=_claim_in_vain, prepare=_forget_places),
    Case(
        name="a look of the timer loop, nothing due", work=lambda site: site.app.clock.pulse(), prepare=_look_at_nothing
    ),
    Case(
        name=f"a look of the timer loop, {_DUE} runs due", work=lambda site: site.app.clock.pulse(), prepare=_make_due
    ),
    Case(name="the first look of a process", work=lambda site: site.app.clock.pulse(), prepare=_begin),
    Case(name="an event through an inbox that is empty", work=_pass_on("alone")),
    Case(name="an event through a full inbox", work=_pass_on(CROWD)),
    Case(name=f"take {_DUE} expired runs off all lists", work=_take_off, prepare=_expire),
    Case(name="delete a run", work=_delete, prepare=lambda site: site.copy("succeeded", 1)),
    Case(name="a step of reconciliation", work=lambda site: site.app.sweep.step(), prepare=_begin_sweep),
    _audited("all", AuditFilter()),
    _audited("of one author", AuditFilter(by="key:k7")),
    _audited("of an author with two, the oldest", AuditFilter(by=f"key:{RARE}")),
    Case(name="create a run of 3 Tasks and carry it out", work=_whole_run),
    Case(name="what /metrics asks of Redis", work=lambda site: GaugeReader(site.connections).read()),
    Case(name="a health report", work=lambda site: site.app.health.report()),
    Case(name="dcf runs top", work=lambda site: top.look(Place(Choice(HERE, "it is measured"), ToolsHere(site.app)))),
)
