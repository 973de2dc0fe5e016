"""The contracts of the profile `midex`: what workflows, steps and agents get and give, as `contracts.json` has it.

`references` may be left out, as in the examples of the original's document. A contract of the same name in the
catalogue takes the place of one of these.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dcf.asl.json_schema.check import misfits
from dcf.asl.json_schema.syntax import flaws_of
from dcf.data import PACKAGE
from dcf.profiles.profile import NotDone, refuse
from dcf.values.json_text import Json

Schema = dict[str, Any]

CONTRACTS: Final[Mapping[str, Schema]] = json.loads(
    (PACKAGE / "profiles" / "midex" / "contracts.json").read_text("utf-8")
)
"""The contracts by their names."""

STEP_OUTPUT: Final = "StepOutput"
_OLDER_DRAFTS: Final = ("/draft-06/schema", "/draft-07/schema", "/draft/2019-09/schema")

LAYERS: Final[Mapping[str, str]] = {
    "orchestrator": "Workflow",
    "workflow": "Workflow",
    "step": "Step",
    "agent_task": "Agent",
}
"""How the names of a layer's contracts begin."""


def or_nothing(contract: Mapping[str, Json]) -> Schema:
    """Return the schema of an output that may be left out."""
    return {**contract, "type": ["object", "null"]}


def in_our_dialect(contract: Mapping[str, Json]) -> Schema:
    """Return a contract that names an older draft, as contracts of the original do, without that name.

    Syntax that only such a draft has is a flaw of the contract, which its check reports.
    """
    if not str(contract.get("$schema")).rstrip("#").endswith(_OLDER_DRAFTS):
        return dict(contract)
    return {name: value for name, value in contract.items() if name != "$schema"}


def check_schema(name: str, contract: Mapping[str, Json]) -> None:
    """Raise NotDone for a contract that is no schema."""
    flaw = next(iter(flaws_of(contract)), None)
    if flaw is not None:
        raise refuse(
            "contract_invalid",
            f"The contract {name} of the catalogue is no JSON Schema: {flaw.pointer or '/'}: {flaw.message}.",
            "Correct it in the catalogue; nothing was changed.",
        )


def check_contract(name: str, contract: Mapping[str, Json], value: Json, argument: str) -> None:
    """Raise NotDone with all violations of a contract by a value, or if the contract is not a schema."""
    check_schema(name, contract)
    misfit_list = misfits(contract, value)
    if misfit_list:
        raise broken(name, [(f"{argument}{misfit.pointer}", misfit.message) for misfit in misfit_list])


def broken(name: str, problems: Sequence[tuple[str, str]]) -> NotDone:
    """Return the refusal of what does not fulfil a contract, with every problem: its place, and what is wrong there."""
    flaws = "; ".join(f"{place}: {message.rstrip('.')}" for place, message in problems)
    return refuse(
        "contract_broken",
        f"The contract {name} is not fulfilled: {flaws}.",
        "Correct all of this and call again; nothing was changed.",
        *(place for place, _ in problems),
    )
