"""Webhooks whose answers are lost: their receivers take the work and do it, and dcf does not hear that they took it."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, TypeAlias

import httpx2

from dcf.webhooks import WebhookEvent, WebhookRefused, verify
from lab.case_rules import lost_answers_of_webhooks_lose_no_work
from lab.deployments import Deployment
from lab.evidence import read_meta
from lab.extras import Bench, Errands
from tests.support.redis.servers import free_port

_MACHINE: Final = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Task", "Next": "W", "TimeoutSeconds": 600},
        "W": {"Type": "Wait", "Seconds": 1, "Next": "B"},
        "B": {"Type": "Task", "End": True, "TimeoutSeconds": 600},
    },
}
_ENDED_S: Final = 60.0
_LOOK_S: Final = 0.2
_MOST_FAULTS: Final = 3
"""Requests of an agent that go wrong: it is left alone longer after each."""

Faults: TypeAlias = tuple[str, ...]

FAITHFUL: Final = ("answer",)
FAULTS: Final = ("answer", "lose", "lose", "fail", "lose and forget")
"""A receiver's behaviour: it takes the work and answers, its answer is lost, or it ignores the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The outcome of a run of an agent with a URL. `odd` are requests and answers that must not be."""

    status: str | None
    odd: tuple[str, ...]
    came: tuple[str, ...]


@dataclass(slots=True)
class Receiver:
    """One agent: its secret, what came, and what it took."""

    luck: random.Random
    faults: Faults
    secret: str = ""
    came: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    tokens: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))

    def take(self, headers: Mapping[str, str], body: bytes) -> str:
        """Take a request in; what is to be done about its answer."""
        try:
            event = verify(headers, body, self.secret)
        except WebhookRefused as error:
            self.odd.append(f"a request was not signed: {error.message}")
            return "fail"
        fault = self.luck.choice(self.faults) if len(self.came) < _MOST_FAULTS else "answer"
        self.came.append(f"{event.type} {event.state} {event.id}: {fault}")
        is_new = event.id not in self.tokens
        if event.work is not None and fault != "fail":
            self.tokens[event.id].add(event.task_token)
            if len(self.tokens[event.id]) > 1:
                self.odd.append(f"{event.id} came again with another task token")
            if is_new and fault != "lose and forget":
                threading.Thread(target=self.work, args=(event,), daemon=True).start()
            if fault == "lose and forget":
                del self.tokens[event.id]
        return fault

    def work(self, event: WebhookEvent) -> None:
        """End the work by its token, until that is answered."""
        time.sleep(self.luck.uniform(0, 0.5))
        body = {"task_token": event.task_token, "output": {"done": event.state}}
        for _ in range(100):
            with suppress(httpx2.HTTPError):
                answer = httpx2.post(event.answer_at["success"], json=body, timeout=20)
                if answer.status_code < 500:
                    if answer.status_code >= 300:
                        self.odd.append(f"the work of {event.state} was refused: {answer.text[:300]}")
                    return
            time.sleep(0.1)


class Receivers:
    """Where all receivers of a batch listen; the last part of a path says whose request it is."""

    def __init__(self) -> None:
        self.port = free_port()
        self.by_agent: dict[str, Receiver] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receivers = self.by_agent

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                fault = receivers[self.path.rpartition("/")[2]].take(dict(self.headers), body)
                self.close_connection = True
                if fault.startswith("lose"):
                    return
                self.send_response(503 if fault == "fail" else 202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


class Hooks(Errands[Hook]):
    """An agent with a URL works on a run of two Tasks; answers to its requests are lost, and servers are killed."""

    at_once = 12
    rules = (lost_answers_of_webhooks_lose_no_work,)

    def __init__(self, bench: Bench, deployment: Deployment, receivers: Receivers, faults: Faults = FAULTS) -> None:
        self._deployment = deployment
        self._receivers = receivers
        self._faults = faults
        super().__init__(bench)

    def errand(self, seed: int) -> Hook:
        """Register a receiver, start a run of its agent, and wait for the end."""
        agent, run = f"hook-{seed}", f"lab-hook-{seed}"
        receiver = self._receivers.by_agent[agent] = Receiver(random.Random(f"hook {seed}"), self._faults)
        with self._deployment.calls() as calls:
            url = f"http://127.0.0.1:{self._receivers.port}/{agent}"
            # A key is shown once: an agent that did not hear the answer asks for a new one.
            receiver.secret = calls.surely("register_agent", agent_id=agent, url=url, new_key="at_once")["secret"]
            calls.surely("start_run", workflow_json=_MACHINE, workflow_id=run, agents_map_json={"*": agent})
            client = self._deployment.client()
            self.eventually(lambda: read_meta(client, run).get("status") != "running", _ENDED_S, _LOOK_S)
        status = read_meta(client, run).get("status")
        return Hook(status=status, odd=tuple(receiver.odd), came=tuple(receiver.came))
