"""The calls of a worker over HTTP: tools of servers that may die, each with the worker's API key.

A call is made once, at one server; the next call after a failure goes to the next server. Nothing is repeated here, so
that every try is recorded.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import Any

from dcf.errors import PASSING, DcfError
from dcf.tools.calling.client import ToolClient
from lab.expectation import PEOPLE
from lab.verbs import ANSWERED_WITHIN_S, QUESTION, Content, Hand, Heard


class HttpVerbs:
    """Calls of tools."""

    def __init__(self, clients: Sequence[ToolClient]) -> None:
        self._turns = cycle(clients)
        self._client = next(self._turns)

    def acquire(self, run: str, state: str, agent: str, token: str, ttl_s: int) -> Heard:
        """Take a state, or any."""
        wish = {"workflow_id": run, "owner_agent_id": agent, "lease_token": token, "lease_ttl_s": ttl_s}
        if state:
            return _leased(self.call("acquire_state_lease", state=state, **wish))
        return _leased(self.call("claim_ready_state", **wish))

    def renew(self, run: str, state: str, token: str) -> Heard:
        """Extend the lease."""
        return _leased(self.call("renew_state_lease", workflow_id=run, state=state, lease_token=token))

    def log(self, run: str, state: str, token: str, line: int) -> Heard:
        """Write a line into the history."""
        place = {"workflow_id": run, "state": state, "lease_token": token}
        answer = self.call("log_event", **place, number=line, message="of the lab")
        return Heard(code=answer["code"], state=state, repeated=bool(answer.get("repeated")))

    def release(self, run: str, state: str, token: str) -> Heard:
        """Give the state back."""
        answer = self.call("release_state_lease", workflow_id=run, state=state, lease_token=token)
        return Heard(code=answer["code"], state=state, repeated=answer.get("status") == "lease_already_clear")

    def write(self, run: str, state: str, token: str, part: Any, request_id: str) -> Heard:
        """Write a part of the output."""
        subject = {"output_json": part, "request_id": request_id}
        return self._update(run, state, token, subject)

    def ask(self, run: str, state: str, token: str, request_id: str, *, give_back: bool) -> Heard:
        """Ask the people of the lab."""
        place = {"workflow_id": run, "state": state, "lease_token": token, "request_id": request_id}
        answer = self.call(
            "ask_question",
            **place,
            question=QUESTION,
            ask=[*PEOPLE],
            give_back=give_back,
            timeout_s=ANSWERED_WITHIN_S,
        )
        return Heard(code=answer["code"], state=state, repeated=bool(answer.get("repeated")))

    def correct(self, run: str, state: str, token: str, output: Any, request_id: str) -> Heard:
        """Correct a result."""
        place = {"workflow_id": run, "state": state, "lease_token": token, "request_id": request_id}
        answer = self.call("correct_result", **place, output_json=output)
        return Heard(code=answer["code"], state=state, repeated=bool(answer.get("repeated")))

    def complete(self, run: str, state: str, token: str, content: Content, claim_ttl_s: int | None) -> Heard:
        """Write the result."""
        subject = {"new_status": "failed" if "error" in content else "succeeded"} | _result(content)
        claim = {} if claim_ttl_s is None else {"claim_next": True, "lease_ttl_s": claim_ttl_s}
        return self._update(run, state, token, subject | claim)

    def complete_all(self, run: str, hand: Hand, claim_ttl_s: int) -> list[Heard]:
        """Write several results at once."""
        results = [{"state": state, "lease_token": token} | _result(content) for state, token, content in hand]
        answer = self.call(
            "complete_states", workflow_id=run, results=results, claim_next=len(hand), lease_ttl_s=claim_ttl_s
        )
        claims = iter(answer["work"])
        return [
            Heard(code=item["code"], repeated=bool(item.get("repeated")), claimed=_claimed(next(claims, None)))
            if item["code"] == "ok"
            else Heard(code=item["code"])
            for item in answer["completed"]
        ]

    def tell(self, run: str, state: str) -> Heard:
        """Tell the agents of the states after this one."""
        answer = self.call("notify_next_worker_agent", workflow_id=run, source_state=state)
        return Heard(code=answer["code"], state=state)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool at the server whose turn it is."""
        try:
            return self._client.call(tool, **arguments)
        except DcfError as error:
            if error.code in PASSING:
                self._client = next(self._turns)
            raise

    def _update(self, run: str, state: str, token: str, subject: dict[str, Any]) -> Heard:
        answer = self.call("update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, **subject)
        claimed = _claimed(answer.get("work"))
        epoch = ((answer.get("updated_state") or {}).get("lease") or {}).get("epoch")
        return Heard(code=answer["code"], epoch=epoch, repeated=bool(answer.get("repeated")), claimed=claimed)


def _leased(document: dict[str, Any]) -> Heard:
    if document["code"] != "ok":
        return Heard(code=document["code"])
    return Heard(
        code="ok",
        state=document["state"],
        epoch=document["lease"]["epoch"],
        attempt=document["updated_state"]["attempts"],
        repeated=document["status"] == "lease_already_held",
        given=(document.get("work") or {}).get("input"),
    )


def _claimed(document: dict[str, Any] | None) -> dict[str, Any] | None:
    if document is None:
        return None
    return {
        "state": document["state"],
        "token": document["lease_token"],
        "epoch": document["epoch"],
        "given": document.get("input"),
    }


def _result(content: Content) -> dict[str, Any]:
    if "error" in content:
        return {"error_name": content["error"], "error_message": "as drawn"}
    return {"output_json": _as_json(content["output"])}


def _as_json(output: Any) -> Any:
    """Return the output as an argument: a text would be read as JSON text."""
    return f'"{output}"' if isinstance(output, str) else output


@contextmanager
def connected(urls: Sequence[str], api_key: str | None) -> Iterator[HttpVerbs]:
    """Yield the calls of one worker at these servers."""
    with ExitStack() as stack:
        clients = [ToolClient(url, 0.0, api_key=api_key) for url in urls]
        for client in clients:
            stack.callback(client.close)
        yield HttpVerbs(clients)
