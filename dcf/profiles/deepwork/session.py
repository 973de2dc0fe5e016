"""The session of a client of DeepWork, worked out from its runs: nothing of it is in memory.

A session's workflows are the runs with its tag. The runs in progress are its stack: the newest is the current one. When
it ends, the run around it continues. The last finished step is read off the runs as well, so that a call whose answer
was lost can be answered again.
"""

from collections.abc import Mapping
from typing import Any, Final

from dcf.profiles.growing_runs import Grown, RunUnit, instant, read_run
from dcf.profiles.ids import digest_of
from dcf.profiles.profile import Native
from dcf.values.json_text import Json
from dcf.values.records import record

TAG: Final = "deepwork"
_MOST: Final = 50
"""Workflows that a session has at once, one in another."""
_RECENT: Final = 3
"""Workflows that ended last: one of them is what a repeated call is about."""


@record(frozen=True, slots=True)
class DeepRun:
    """One workflow of a session."""

    read: Grown

    @property
    def id(self) -> str:
        """Id of the run."""
        return self.read.run

    @property
    def name(self) -> str:
        """Job and workflow."""
        return f"{self.read.input('job_name')}/{self.read.input('workflow_name')}"

    @property
    def steps(self) -> Mapping[str, Mapping[str, Any]]:
        """The steps that the run has in its input, in their order."""
        return {step["id"]: step for step in self.read.input("steps") or ()}

    @property
    def is_open(self) -> bool:
        """True while the run is in progress."""
        return self.read.meta.get("status") == "running"

    @property
    def current(self) -> RunUnit | None:
        """The step that is to be done now."""
        units = self.read.units
        return next((units[name] for name in self.steps if name in units and not units[name].has_ended), None)

    @property
    def last(self) -> RunUnit | None:
        """The step that was finished last."""
        done = [unit for name in self.steps if (unit := self.read.units.get(name)) and unit.status == "succeeded"]
        return max(done, key=lambda item: item.finished_at or "", default=None)

    @property
    def created_at(self) -> str:
        """When it was started."""
        return str(self.read.meta.get("created_at"))

    def shown(self) -> dict[str, Json]:
        """Return its entry in the stack."""
        return {"workflow": self.name, "step": None if self.current is None else self.current.name}


@record(frozen=True, slots=True, kw_only=True)
class Session:
    """A session: its id, the tag of its runs, open runs (oldest first), and the last ended runs (latest first).

    `newest` is the run that was started last: part of the name of the next request to start one.
    """

    id: str
    tag: str
    stack: tuple[DeepRun, ...]
    ended: tuple[DeepRun, ...]
    newest: str

    @property
    def current(self) -> DeepRun | None:
        """The workflow that is under way."""
        return self.stack[-1] if self.stack else None

    def shown(self) -> list[Json]:
        """Return the stack as answers show it."""
        return [run.shown() for run in self.stack]

    def finished_last(self) -> tuple[DeepRun, RunUnit] | None:
        """Return the step that was finished last, if nothing was started since."""
        done = [(run, run.last) for run in (*self.stack[-1:], *self.ended)]
        last_run_and_unit = max(
            ((run, unit) for run, unit in done if unit is not None and unit.finished_at is not None),
            key=lambda pair: instant(str(pair[1].finished_at)),
            default=None,
        )
        if last_run_and_unit is None:
            return None
        begun = max((instant(run.created_at) for run in (*self.stack, *self.ended)), default=None)
        is_newest = begun is None or begun < instant(str(last_run_and_unit[1].finished_at))
        return last_run_and_unit if is_newest else None


def session_id(native: Native, session: str | None) -> str:
    """Return the id of the caller's session: the one it names, else its own, which is the same whenever it asks."""
    return session or digest_of("deepwork", native.agent())


def scope_of(native: Native, session: str | None) -> str:
    """Return the name of the session in the store. It depends on the caller, so that callers never share a session."""
    return f"{TAG}-{digest_of(native.agent(), session_id(native, session))}"


async def session_of(native: Native, session: str | None) -> Session:
    """Return the session of a caller."""
    tag = scope_of(native, session)
    page = await native.call("list_runs", tag=tag, status="running", limit=_MOST)
    open_ = [DeepRun(await read_run(native, run["workflow_id"])) for run in reversed(page["runs"])]
    lately = await native.call("list_runs", tag=tag, limit=_MOST)
    done = [run for run in lately["runs"] if run.get("status") != "running" and run.get("finished_at")]
    over = sorted(done, key=lambda run: instant(str(run["finished_at"])), reverse=True)
    ended = [DeepRun(await read_run(native, over_run["workflow_id"])) for over_run in over[:_RECENT]]
    ended_ids = {over_run["workflow_id"] for over_run in over}
    still = [open_run for open_run in open_ if open_run.is_open and open_run.id not in ended_ids]
    newest = str(lately["runs"][0]["workflow_id"]) if lately["runs"] else ""
    return Session(id=session_id(native, session), tag=tag, stack=tuple(still), ended=tuple(ended), newest=newest)
