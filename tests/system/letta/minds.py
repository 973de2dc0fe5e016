"""The scripted model as planner and workers: they follow `agents/*.md` step by step, from what they see alone.

A script is a list of steps. Each looks at the conversation and answers with the next call, or with none when its
part is done; so a script is in the same place wherever it is resumed.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.support.paths import ROOT
from tests.system.letta.model import Conversation, Reply, Result, say, use

Json = Any
Step = Callable[[Conversation], Reply | None]

WORKFLOW: dict[str, Json] = json.loads((ROOT / "workflows" / "order_processing.json").read_text("utf-8"))
TRIES = 3
LEASE_S = 40
"""Shorter than the instructions say, so that what a fault leaves behind is over soon."""


def first(seen: Conversation, steps: Iterable[Step]) -> Reply:
    """The call whose result was lost once more, up to three times; else the first reply among the steps."""
    if len(seen.lost) > TRIES:
        return say(f"{seen.lost[0].tool} fails again and again.")
    if seen.lost:
        return use(seen.lost[0].tool, **seen.lost[0].arguments)
    return next(reply for step in steps if (reply := step(seen)) is not None)


def is_ok(answer: dict[str, Json]) -> bool:
    return answer.get("code") == "ok" and answer.get("ok", True) is True


# The worker


def worker(seen: Conversation) -> Reply | None:
    if "You are a worker of dcf" not in seen.system:
        return None
    if seen.event.get("type") != "workflow_event":
        return say("I act on workflow events only.")
    return first(seen, (_assignment, _load, _acquire, _work, _report, _notify, _unload, _release, _end))


def _event(seen: Conversation) -> tuple[str, str, str]:
    return seen.event["workflow_id"], seen.event["target_state"], seen.event["agent_id"]


def _assignment(seen: Conversation) -> Reply | None:
    run, state, me = _event(seen)
    if not seen.called("get_my_assignment"):
        return use("get_my_assignment", agent_id=me, workflow_id=run, state=state)
    return None if _state(seen).get("ready") else say("There is nothing for me to do.")


def _load(seen: Conversation) -> Reply | None:
    """Load each skill; what it brings along can be used from the next message on only."""
    for skill in _skills(seen):
        if not any(result.arguments.get("skill_json") == skill["reference"] for result in _loads(seen)):
            run, state, me = _event(seen)
            return use("load_skill", skill_json=skill["reference"], agent_id=me, workflow_id=run, state=state)
    needed = {tool["name"] for skill in _skills(seen) for tool in skill.get("tools") or () if tool["required"]}
    if _has_skills(seen) and not needed <= set(seen.tools):
        return say("My tools reach me with the next message.")
    return None


def _acquire(seen: Conversation) -> Reply | None:
    run, state, me = _event(seen)
    if not seen.called("acquire_state_lease"):
        return use("acquire_state_lease", workflow_id=run, state=state, owner_agent_id=me, lease_ttl_s=LEASE_S)
    if seen.last("acquire_state_lease").get("code") != "ok":
        return say("Somebody else has it.")
    return None


def _work(seen: Conversation) -> Reply | None:
    if not _has_skills(seen):
        return None
    return WORK[_event(seen)[1]](seen).call


def _report(seen: Conversation) -> Reply | None:
    if seen.called("update_workflow_control_plane"):
        return None
    run, state, _ = _event(seen)
    holding = {"workflow_id": run, "state": state, "lease_token": _token(seen)}
    if not _has_skills(seen):
        failure = {"error_name": "SkillUnavailable", "error_message": "a skill could not be loaded"}
        return use("update_workflow_control_plane", **holding, new_status="failed", **failure)
    output = WORK[state](seen).output
    return use("update_workflow_control_plane", **holding, new_status="succeeded", output_json=output)


def _notify(seen: Conversation) -> Reply | None:
    run, state, _ = _event(seen)
    if not is_ok(seen.last("update_workflow_control_plane")) or seen.called("notify_next_worker_agent"):
        return None
    return use("notify_next_worker_agent", workflow_id=run, source_state=state)


def _unload(seen: Conversation) -> Reply | None:
    for result in _loads(seen):
        manifest = result.answer.get("manifest_id")
        if manifest and not any(done.arguments.get("manifest_id") == manifest for done in _of(seen, "unload_skill")):
            return use("unload_skill", manifest_id=manifest, agent_id=_event(seen)[2])
    return None


def _release(seen: Conversation) -> Reply | None:
    run, state, _ = _event(seen)
    if seen.called("release_state_lease"):
        return None
    return use("release_state_lease", workflow_id=run, state=state, lease_token=_token(seen))


def _end(seen: Conversation) -> Reply:
    return say(f"I am done with {_event(seen)[1]}.")


def _token(seen: Conversation) -> str:
    return str(seen.last("acquire_state_lease")["lease"]["token"])


def _state(seen: Conversation) -> dict[str, Json]:
    """The part of the assignment about the state; empty when it is not the agent's."""
    states = seen.last("get_my_assignment").get("states") or ()
    return next((entry for entry in states if entry["state"] == _event(seen)[1]), {})


def _skills(seen: Conversation) -> list[dict[str, Json]]:
    skills: list[dict[str, Json]] = _state(seen).get("skills") or []
    return skills


def _has_skills(seen: Conversation) -> bool:
    return all(is_ok(result.answer) for result in _loads(seen))


def _of(seen: Conversation, tool: str) -> list[Result]:
    return [result for result in seen.results if result.tool == tool]


def _loads(seen: Conversation) -> list[Result]:
    return _of(seen, "load_skill")


# What the skills' directives say


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The next call of a skill's tool, or the output when all were made."""

    call: Reply | None = None
    output: Json = None


def _given(seen: Conversation) -> dict[str, Json]:
    result: dict[str, Json] = seen.last("acquire_state_lease")["work"]["input"]
    return result


def _check_order(seen: Conversation) -> Progress:
    order = _given(seen)
    if not seen.called("verify_customer"):
        return Progress(call=use("verify_customer", customer_id=order["customer_id"]))
    for sku in sorted({line["sku"] for line in order["lines"]}):
        if not any(result.arguments["sku"] == sku for result in _of(seen, "check_inventory")):
            return Progress(call=use("check_inventory", sku=sku))
    if not seen.called("validate_address"):
        address = {name: order["ship_to"][name] for name in ("state", "zip")}
        return Progress(call=use("validate_address", **address))
    name = seen.last("verify_customer")["name"]
    return Progress(output={"customer": name, "discount_code": order.get("discount_code")})


def _price_order(seen: Conversation) -> Progress:
    value = _given(seen)
    if not seen.called("calculate_subtotal"):
        return Progress(call=use("calculate_subtotal", lines=value["lines"]))
    subtotal = seen.last("calculate_subtotal")["subtotal"]
    if not seen.called("apply_discount"):
        dated = {"code": value["discount_code"], "subtotal": subtotal, "order_date": value["order_date"]}
        return Progress(call=use("apply_discount", **dated))
    discount = seen.last("apply_discount")["discount"]
    amount = str(Decimal(subtotal) - Decimal(discount))
    if not seen.called("calculate_tax"):
        return Progress(call=use("calculate_tax", state=value["state"], amount=amount))
    if not seen.called("calculate_shipping"):
        return Progress(call=use("calculate_shipping", zip=value["zip"], amount=amount))
    tax, shipping = seen.last("calculate_tax")["tax"], seen.last("calculate_shipping")["shipping"]
    figures = {"subtotal": subtotal, "discount": discount, "tax": tax, "shipping": shipping}
    return Progress(output=figures | {"total": str(Decimal(amount) + Decimal(tax) + Decimal(shipping))})


def _write_invoice(seen: Conversation) -> Progress:
    value = _given(seen)
    if not seen.called("create_invoice"):
        fields = ("order_number", "order_date", "customer", "lines", "pricing")
        return Progress(call=use("create_invoice", **{name: value[name] for name in fields}))
    return Progress(output=seen.last("create_invoice"))


WORK: dict[str, Callable[[Conversation], Progress]] = {
    "ValidateOrder": _check_order,
    "CalculatePricing": _price_order,
    "GenerateInvoice": _write_invoice,
}
