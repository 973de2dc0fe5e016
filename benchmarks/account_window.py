"""`python -m benchmarks.account_window [AGENTS [PROCESSES [WINDOW_S]]]`: how soon all agents work after a limit.

The agents share an account, on several processes and one Redis. Each has a run with one Task. A provider rejects every
turn until the end of a window, which it tells. Agents use what a host uses: leases, reservations, parking. They ask
again at the time that a refusal names; a host would get an event then. Printed are the seconds from the end of the
window until 1, half, and all agents are in a turn.
"""

import asyncio
import multiprocessing
import secrets
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Final

from benchmarks.workloads import chain
from dcf.application.application import Application, open_application
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased
from dcf.core.documents.usage import UsageReport, read_report
from dcf.core.leasing.lease import Acquire, Release
from dcf.core.leasing.parking import Excuse, excuse_of
from dcf.core.lifecycle.creation import Create
from dcf.features.accounts.model import LimitMet, Wish
from dcf.hosting.protocol import AgentLimited, AgentProfile, AgentWork
from dcf.hosting.reserving import AccountTurns, AccountUse
from dcf.settings.process import Settings
from dcf.values.instants import SECOND
from dcf.worker.parking import limited_until

ACCOUNT: Final = "measured"
STATE: Final = "S0000"
_THREADS: Final = 16
_NO_TOOLS: Any = None
_TURN_S: Final = 60.0
"""As long as all agents need to begin, so that all are in a turn at the same time."""


class Tools:
    """The tools of a host that are about turns, in this process."""

    def __init__(self, app: Application) -> None:
        self._accounts = app.accounts

    def call(self, tool: str, **call: Any) -> dict[str, Any]:
        """Call a tool."""
        if tool == "reserve_turn":
            wish = Wish(id=call["reservation"], run=call["for_run"], agent=call["agent_id"], tokens=call["tokens"])
            verdict = self._accounts.reserve(call["account"], wish)
            granted, closed = verdict.verdict == "granted", {"kind": verdict.kind, "is_known": verdict.is_known}
            after = None if granted else verdict.after / SECOND
            return {
                "code": "ok",
                "granted": granted,
                "verdict": verdict.verdict,
                "ask_again_s": after,
                "closed": closed,
            }
        if tool == "report_limit":
            met = LimitMet(until=0, kind=call["kind"], by=call["agent_id"], id=call["reservation"])
            return {"code": "ok", "closed_for_s": self._accounts.closed(ACCOUNT, met, until=call["until"])[1] / SECOND}
        used = UsageReport() if call["usage_json"] is None else read_report(call["usage_json"])
        ended = call.get("ended", False)
        self._accounts.report(ACCOUNT, call["reservation"], used, ended=ended, ok=call.get("accepted", False))
        return {"code": "ok"}


class Agents:
    """The agents of one process."""

    def __init__(self, app: Application, ends_at: float) -> None:
        self.app = app
        self.tools = Tools(app)
        self.ends_at = ends_at
        self.begun: list[float] = []

    async def work(self, agent: str) -> None:
        """Try the Task of the agent's run until a turn of it has begun that the provider accepts."""
        run = f"run-{agent}"
        request = Create(
            workflow_id=run,
            definition=read_definition(chain(1)),
            run_input={},
            agents={STATE: (agent,)},
            planner_agent_id=None,
            retention_s=None,
            max_attempts=1,
        )
        await asyncio.to_thread(self.app.control_plane.create, request)
        while not await self._tried(agent, run):
            pass

    async def _tried(self, agent: str, run: str) -> bool:
        token = secrets.token_hex(16)
        wish = Acquire(state=STATE, owner=agent, token=token, ttl_s=300)
        leased = await asyncio.to_thread(self.app.control_plane.acquire, run, wish)
        if not isinstance(leased, Leased):
            await asyncio.sleep(leased.retry_after_s or 1)
            return False
        run_work = AgentWork(
            workflow_id=run,
            state=STATE,
            input=None,
            agent=AgentProfile(name=agent),
            idempotency_key=agent,
            epoch=leased.doc.lease.epoch,
        )
        turns = AccountTurns(self.tools, AccountUse(account=ACCOUNT), run_work, lambda _: None)
        try:
            await turns.carried(_NO_TOOLS, self._turn)
        except AgentLimited as limit:
            excuse = excuse_of(limited_until(limit), limit.kind, counts=False, account=limit.account)
            await asyncio.to_thread(self._park, run, token, excuse)
            return False
        return True

    def _park(self, run: str, token: str, excuse: Excuse | None) -> None:
        self.app.accounts.release(run, Release(state=STATE, token=token, excuse=excuse))

    async def _turn(self, _: Any) -> None:
        now = time.time()
        if now < self.ends_at:
            raise AgentLimited(until=self.ends_at, cause="scripted")
        self.begun.append(now)
        await asyncio.sleep(_TURN_S)


async def _work(app: Application, names: list[str], ends_at: float) -> list[float]:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    agents = Agents(app, ends_at)
    tasks = [asyncio.ensure_future(agents.work(name)) for name in names]
    done, _ = await asyncio.wait(tasks, timeout=ends_at + _TURN_S - time.time(), return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()  # no agent ends before: it raises
    for task in tasks:
        task.cancel()
    return agents.begun


def _opened(settings: dict[str, Any]) -> AbstractContextManager[Application]:
    return open_application(Settings.model_validate(settings))


def work(url: str, names: list[str], ends_at: float) -> list[float]:
    """Carry out some of the agents in this process; return when their turns began."""
    with _opened({"redis_url": url}) as app:
        return asyncio.run(_work(app, names, ends_at))


def measure(agents: int, processes: int, window_s: float) -> list[float]:
    """Return the seconds from the end of the window until the turns began, in their order."""
    names = [f"agent-{number}" for number in range(agents)]
    with (
        tempfile.TemporaryDirectory() as folder,
        open_application(Settings.model_validate({"data_dir": folder})) as app,
    ):
        app.accounts.put(ACCOUNT, {"in_flight": agents})
        for name in names:
            app.accounts.assign(name, ACCOUNT, is_hosted=True)
        ends_at = time.time() + window_s
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            shares = [
                pool.submit(work, app.redis_url, names[number::processes], ends_at) for number in range(processes)
            ]
            return sorted(at - ends_at for share in shares for at in share.result())


def main() -> None:
    """Print the figures."""
    values = [int(text) for text in sys.argv[1:]]
    agents, processes, window_s = (*values, *(1000, 4, 60)[len(values) :])
    waits = measure(agents, processes, window_s)
    first, half, last = waits[0], waits[len(waits) // 2], waits[-1]
    print(f"{len(waits)} of {agents} agents at work after a window of {window_s} s, on {processes} processes:")
    print(f"the first after {first:.1f} s, half after {half:.1f} s, the last after {last:.1f} s")


if __name__ == "__main__":
    main()
