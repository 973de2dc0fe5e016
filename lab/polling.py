"""Clients that are frozen in a long poll: their connection stays open, and no process reads the server's answer.

The task of such a client must soon be free for another client of the same agent: no process received the lease.
"""

import random
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from dcf.tools.mcp.messages import ToolRequest, headers_for
from dcf.values.instants import SECOND, from_text
from lab.case_rules import FIRST_TERM_S, a_frozen_client_holds_a_task_shortly, the_next_client_gets_the_task
from lab.evidence import read_documents, read_meta
from lab.extras import Calls, Errands

_WORKFLOW: Final = {"StartAt": "Work", "States": {"Work": {"Type": "Task", "End": True}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPoll:
    """The outcome of a task that a frozen client leased: how long, and how its run ended with another client."""

    term_s: float
    status: str | None


class Polls(Errands[FrozenPoll]):
    """A client of an agent is frozen while it waits. The task comes, and another client of the agent asks for it."""

    rules = (a_frozen_client_holds_a_task_shortly, the_next_client_gets_the_task)

    def errand(self, seed: int) -> FrozenPoll | None:
        """Have a task leased to a client that does not read, and see what becomes of it."""
        run, agent, luck = f"lab-poll-{seed}", f"poller-{seed}", random.Random(f"poll {seed}")
        with self.calls() as calls:
            wish = {"workflow_id": run, "agents_map_json": {"Work": agent}, "max_attempts": 1000}
            calls.surely("create_workflow_control_plane", workflow_json=_WORKFLOW, **wish)
            url = luck.choice(self.kind.workplace().server_urls)
            with frozen(url, calls.api_key, "await_workflow_event", agent_id=agent, timeout_s=50):
                time.sleep(luck.uniform(0.05, 0.3))
                calls.surely("notify_next_worker_agent", workflow_id=run)
                if not self.eventually(lambda: self.lease(run) != {}, 3):
                    return None
                term_s = _term_of(self.lease(run))
                if term_s > FIRST_TERM_S:
                    return FrozenPoll(term_s=term_s, status=None)
                self.eventually(lambda: self.is_done(calls, run, agent), 30)
        return FrozenPoll(term_s=term_s, status=read_meta(self.kind.client(), run).get("status"))

    def lease(self, run: str) -> Mapping[str, Any]:
        """Return the lease of the task; empty while the task is not leased."""
        lease: Mapping[str, Any] = read_documents(self.kind.client(), run).get("Work", {}).get("lease", {})
        return lease if lease.get("token") else {}

    def is_done(self, calls: Calls, run: str, agent: str) -> bool:
        """Ask for the task as another client of the agent, and do it; whether it is done."""
        heard = calls.once("await_workflow_event", agent_id=agent, timeout_s=1) or {}
        work = heard.get("work")
        if work is not None:
            calls.surely(
                "update_workflow_control_plane",
                workflow_id=run,
                state=work["state"],
                lease_token=work["lease_token"],
                new_status="succeeded",
                output_json={},
            )
        return read_meta(self.kind.client(), run).get("status") == "succeeded"


def _term_of(lease: Mapping[str, Any]) -> float:
    begins, ends = from_text(lease["ts"]), from_text(lease["expires_at"])
    assert begins is not None, lease
    assert ends is not None, lease
    return (ends - begins) / SECOND


@contextmanager
def frozen(url: str, api_key: str, tool: str, **arguments: Any) -> Iterator[None]:
    """Call a tool as a client that sends its request whole, and is frozen before it reads the answer."""
    place = urlsplit(url)
    request = ToolRequest(tool, arguments, 1)
    headers = headers_for(api_key) | request.headers | {"Host": place.netloc, "Content-Length": str(len(request.body))}
    lines = [f"POST {place.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    with socket.socket() as line:
        with suppress(OSError):  # the server may be dead just now
            line.connect((place.hostname or "", place.port or 0))
            line.sendall("\r\n".join(lines).encode() + request.body)
        yield
