"""Runs in each condition that people look at, made through the tools as agents make them: for tests and screenshots."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from dcf.application.application import Application
from dcf.verbs.authentication import the_local_user
from dcf.web.visit import Visit
from tests.support.waiting import wait_until
from tests.tools.calls import ORDER, ORDER_WORKFLOW, STEPS

Json = Any

HOSTILE: Final = (
    '</script><script>window.canary=1</script><img src=x onerror="window.canary=2">'
    '<a href="javascript:window.canary=3">\'"`&amp;</a>\u202egnp.exe\x1b[31m'
)
"""Text that would run scripts, leave the page or turn its text around if it were shown without care."""

HOSTILE_STATE: Final = '<img src=x onerror="canary=4">'
_TASK: Final = {"Type": "Task", "End": True}


def order(number: int) -> dict[str, Json]:
    """An order document with a number of its own."""
    return {**ORDER, "order_number": f"SO-2026-{number:04}"}


RELEASE: Final[dict[str, Json]] = {
    "workflow_name": "Release notes",
    "version": "2.1.0",
    "asl": {
        "StartAt": "CollectChanges",
        "States": {
            "CollectChanges": {"Type": "Task", "Next": "Write"},
            "Write": {
                "Type": "Parallel",
                "Branches": [
                    {
                        "StartAt": "Draft",
                        "States": {"Draft": {"Type": "Task", "Next": "CheckFacts"}, "CheckFacts": _TASK},
                    },
                    {"StartAt": "Illustrate", "States": {"Illustrate": _TASK}},
                ],
                "Next": "Translate",
            },
            "Translate": {
                "Type": "Map",
                "ItemsPath": "$[0].languages",
                "ItemProcessor": {
                    "StartAt": "TranslatePage",
                    "States": {
                        "TranslatePage": {**_TASK, "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 3}]}
                    },
                },
                "Next": "GoodEnough",
            },
            "GoodEnough": {
                "Type": "Choice",
                "Choices": [{"Variable": "$[0].score", "NumericLessThan": 0.8, "Next": "Draft again"}],
                "Default": "Publish",
            },
            "Draft again": {"Type": "Task", "Next": "Translate"},
            "Publish": {"Type": "Task", "End": True},
        },
    },
}
REFUND: Final[dict[str, Json]] = {
    "workflow_name": "Refund",
    "version": "1.4.0",
    "asl": {
        "StartAt": "CheckClaim",
        "States": {
            "CheckClaim": {"Type": "Task", "ResultPath": "$.check", "Next": "Approve"},
            "Approve": {
                "Type": "Task",
                "Resource": "dcf:human",
                "Parameters": {
                    "to": ["alice", {"group": "finance"}],
                    "title": "Approve the refund",
                    "instructions": "The parcel came back with the seal broken. Look at the pictures first.",
                    "details": {"claim.$": "$.claim", "amount.$": "$.amount"},
                    "choices": ["approve", {"name": "reject", "comment": "required"}],
                    "schema": {
                        "type": "object",
                        "properties": {"amount": {"type": "number", "minimum": 0}, "goodwill": {"type": "boolean"}},
                    },
                },
                "TimeoutSeconds": 259200,
                "ResultPath": "$.approval",
                "Next": "Pay",
            },
            "Pay": {"Type": "Task", "End": True},
        },
    },
}
IMPORT: Final[dict[str, Json]] = {
    "workflow_name": "Nightly import",
    "version": "0.9.2",
    "asl": {
        "StartAt": "Fetch",
        "States": {
            "Fetch": {
                "Type": "Task",
                "Retry": [{"ErrorEquals": ["Source.Busy"], "IntervalSeconds": 900, "MaxAttempts": 3}],
                "Next": "Load",
            },
            "Load": {"Type": "Task", "End": True},
        },
    },
}
REVIEW: Final[dict[str, Json]] = {
    "workflow_name": "Review a change",
    "version": "1.0.0",
    "asl": {
        "TimeoutSeconds": 1800,
        "StartAt": "Read",
        "States": {
            "Read": {
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "Tests", "States": {"Tests": _TASK}},
                    {"StartAt": "Style", "States": {"Style": _TASK}},
                ],
                "Next": "Decide",
            },
            "Decide": {"Type": "Task", "End": True},
        },
    },
}
_HOSTILE_WORKFLOW: Final[dict[str, Json]] = {
    "workflow_name": "<img src=x onerror=canary=5>",
    "asl": {
        "Comment": HOSTILE,
        "StartAt": HOSTILE_STATE,
        "States": {HOSTILE_STATE: {"Type": "Task", "Comment": HOSTILE, "Next": "Second"}, "Second": _TASK},
    },
}


@dataclass(frozen=True)
class Crew:
    """Agents who work on an application, and their operator: each call is one of a tool."""

    application: Application
    pause: Callable[[float], object] = lambda _: None
    """Lets a number of seconds of work pass; tests pass none."""

    @cached_property
    def _visit(self) -> Visit:
        settings = self.application.settings.model_copy(update={"allow_operator": True})
        return Visit(application=self.application, caller=the_local_user(settings)(), may_act=True)

    def ask(self, tool: str, **arguments: Json) -> Mapping[str, Json]:
        return self._visit.ask(tool, **arguments)

    def start(self, workflow: Json, given: Json = None, agents: Json = None, **more: Json) -> str:
        run = more.pop("workflow_id", None) or f"demo-{secrets.token_hex(5)}"
        self.ask(
            "start_run", workflow_json=workflow, workflow_id=run, input_json=given or {},
            agents_map_json=agents or {"*": "worker-1"}, **{"keep": False, **more},
        )  # fmt: skip
        return run

    def take(self, run: str, state: str, agent: str = "worker-1", ttl_s: int = 900) -> str:
        taken = self.ask(
            "acquire_state_lease", workflow_id=run, state=state, owner_agent_id=agent, lease_ttl_s=ttl_s,
            require_owner_match=False,
        )  # fmt: skip
        return str(taken["lease"]["token"])

    def complete(self, run: str, state: str, token: str, output: Json) -> None:
        self.ask(
            "update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, new_status="succeeded",
            output_json=output,
        )  # fmt: skip

    def done(self, run: str, state: str, output: Json, agent: str = "worker-1") -> None:
        token = self.take(run, state, agent)
        self.pause(0.4)
        self.complete(run, state, token, output)

    def failed(self, run: str, state: str, error: str, why: str, agent: str = "worker-1") -> None:
        token = self.take(run, state, agent)
        self.pause(0.2)
        self.ask(
            "update_workflow_control_plane", workflow_id=run, state=state, lease_token=token, new_status="failed",
            error_name=error, error_message=why,
        )  # fmt: skip

    def causes(self, run: str) -> list[str]:
        """Why it does not move, in the words of explain_run."""
        return [finding["cause"] for finding in self.ask("explain_run", workflow_id=run)["findings"]]

    def finished(self, number: int = 1, **more: Json) -> str:
        """An order pipeline that has gone to its end."""
        run = self.start(ORDER_WORKFLOW, order(number), **more)
        for state, output in STEPS.items():
            self.done(run, state, output, f"{state.lower()}-1")
        return run

    def running(self, number: int = 2, **more: Json) -> str:
        """An order pipeline whose second state somebody works on."""
        run = self.start(ORDER_WORKFLOW, order(number), **more)
        self.done(run, "ValidateOrder", STEPS["ValidateOrder"], "validation-2")
        self.take(run, "CalculatePricing", "pricing-1")
        return run

    def retried(self, **more: Json) -> str:
        """A run whose first state failed and is about to be tried again."""
        run = self.start(IMPORT, {"source": "warehouse"}, **more)
        self.failed(run, "Fetch", "Source.Busy", "The warehouse answers 503: maintenance until 02:00.", "importer-1")
        return run

    def lost(self, **more: Json) -> str:
        """A run whose state has a holder that is silent; its lease has expired."""
        run = self.start(IMPORT, {"source": "shop"}, **more)
        self.take(run, "Fetch", "importer-2", ttl_s=1)
        wait_until(lambda: "lease_expired" in self.causes(run))
        return run

    def broken(self, **more: Json) -> str:
        """A run that failed."""
        run = self.start(ORDER_WORKFLOW, order(3), **more)
        self.failed(run, "ValidateOrder", "OrderRejected", "The customer CUST-9999 is not known.", "validation-1")
        return run

    def waiting(self, **more: Json) -> str:
        """A run that waits for a person."""
        run = self.start(REFUND, {"claim": "The parcel arrived open.", "amount": 84.5}, **more)
        self.done(run, "CheckClaim", {"plausible": True, "score": 0.91}, "claims-1")
        return run

    def accounts(self) -> None:
        """Three accounts: the budget is nearly used up, there is no credit, and some models are closed."""
        money = {"cost": "50", "currency": "USD"}
        self.ask("put_account", account="openai-team", in_flight=8, tokens_per_minute=400_000, cost_per_day_json=money)
        used = {"tokens_in": 2_410_000, "tokens_out": 180_300, "cost": "42.75", "currency": "USD"}
        turns = {f"turn-{number}": agent for number, agent in enumerate(("writer-1", "critic", "painter"))}
        for turn, agent in turns.items():
            self.ask("register_agent", agent_id=agent, account="openai-team")
            self.ask("reserve_turn", account="openai-team", reservation=turn, agent_id=agent, tokens=20_000)
        first = {"account": "openai-team", "reservation": "turn-0", "usage_json": used}
        self.ask("report_turn", **first, ended=True, accepted=True)
        self.ask("put_account", account="gemini-trial", tokens_per_day=5_000_000)
        self.ask("report_limit", account="gemini-trial", agent_id="scout-1", kind="spent", reason="credit is used up")
        self.ask("report_limit", account="anthropic-2", agent_id="coder-7", until="40h", family="opus")

    def parked(self, account: str = "anthropic-1", **more: Json) -> str:
        """A run that waits for an account, which another agent found closed; it times out before the limit ends."""
        agents = [f"coder-{number}" for number in range(1, 4)]
        for agent in agents:
            self.ask("register_agent", agent_id=agent, account=account)
        self.ask("put_account", account=account, in_flight=20)
        run = self.start(REVIEW, {"change": "4711"}, agents={"*": "coder-1"}, **more)
        tokens = {state: self.take(run, state, "coder-1") for state in ("Read/0/Tests", "Read/1/Style")}
        self.ask("report_limit", account=account, agent_id="coder-3", until="52m", reason="five-hour limit")
        for state, token in tokens.items():
            limit = {"limited_until": "52m", "limit_account": account, "limit_reported_by": "coder-3"}
            self.ask("release_state_lease", workflow_id=run, state=state, lease_token=token, **limit)
        return run

    def mapped(self, items: int = 12, **more: Json) -> str:
        """A run inside a Map: most iterations are done, one was tried again, one is being worked on."""
        run = self.start(RELEASE, {"product": "dcf 0.2"}, **more)
        self.pause(0.3)
        self.done(run, "CollectChanges", {"changes": 41}, "historian")
        languages = [f"language {number}" for number in range(items)]
        draft = self.take(run, "Write/0/Draft", "writer-1")
        self.pause(0.2)
        pictures = self.take(run, "Write/1/Illustrate", "painter")
        self.pause(0.9)
        self.complete(run, "Write/0/Draft", draft, {"text": "Everything is faster."})
        self.done(run, "Write/0/CheckFacts", {"languages": languages, "score": 0.93}, "critic")
        self.complete(run, "Write/1/Illustrate", pictures, {"pictures": 3})
        self.failed(run, "Translate/0/TranslatePage", "Model.Overloaded", "Try again in a second.", "translator-0")
        for first in range(1, items - 2, 3):
            batch = range(first, min(first + 3, items - 2))
            tokens = [
                self.take(run, f"Translate/{element}/TranslatePage", f"translator-{element % 3}") for element in batch
            ]
            for item, token in zip(batch, tokens, strict=True):
                self.pause(0.25)
                self.complete(run, f"Translate/{item}/TranslatePage", token, {"words": 400 + item})
        self.take(run, f"Translate/{items - 2}/TranslatePage", "translator-1")
        return run

    def kept(self, workflow: Json = REFUND) -> str:
        """A workflow of the catalogue, as it is written in an address."""
        self.start(workflow, {"claim": "none", "amount": 0}, keep=True)
        return quote(str(workflow["workflow_name"]))

    def hostile(self, **more: Json) -> str:
        """A run in which every text that others may write would harm the page if it were shown without care."""
        run = self.start(_HOSTILE_WORKFLOW, {HOSTILE: HOSTILE}, tags_json=["hostile"], **more)
        self.done(run, HOSTILE_STATE, {"shown": HOSTILE})
        self.failed(run, "Second", "Broken", HOSTILE)
        return run
