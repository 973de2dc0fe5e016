"""Loads skills into agents and unloads them, all or nothing, also if a process dies in between.

Each step is first recorded in the store as an intention, then done on the platform, then recorded as done. So the store
tells what an agent has, and loading a skill again needs no platform call.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from dcf.adapters.platforms import Platforms
from dcf.errors import (
    AgentUnknown,
    Conflict,
    DcfError,
    Forbidden,
    InvalidArgument,
    PlatformUnavailable,
    ToolUnavailable,
)
from dcf.jitter import JITTER
from dcf.ports import ToolWish
from dcf.skills.connections import as_instructions
from dcf.skills.manifest import Manifest
from dcf.skills.policy import Policy, SkillPlan, left_out, plan
from dcf.skills.servers import Registry
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workforce.skills import holdings as decisions
from dcf.workforce.skills.holdings import Busy, HeldTool, Holding, Repair, Reserved, Settled, SkillPhase
from dcf.workforce.skills.holdings_documents import HoldingsDocuments
from dcf.workforce.skills.mirror import Mirror
from dcf.workforce.skills.removal import Removal

Answer = TypeVar("Answer")

_PATIENCE_S: Final = 20.0
"""Longest wait for another caller that changes the same skills."""
_BUDGET_S: Final = 90.0
"""Longest time that loading may take: half of `HOLD`, so that no other caller undoes it meanwhile."""


@record(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A skill that the agent has, and what it brings. `already` is True if it had it before this call."""

    holding: Holding
    plan: SkillPlan
    already: bool
    warnings: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Unloaded:
    """The result of unloading: `holding` is what was removed, None if the agent did not have the skill."""

    holding: Holding | None
    warnings: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long one piece of a data source may be, and how many pieces one skill may have."""

    max_chars: int = 4900
    max_pieces: int = 32


@dataclass(slots=True)
class _Attached:
    """The progress of one load. A block id of None means that the platform was asked and may have created the block."""

    before: tuple[str, ...] = ()
    texts: dict[str, str | None] = field(default_factory=dict)
    tools: dict[str, HeldTool] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Equipment:
    """Loads and unloads the skills of agents."""

    def __init__(
        self,
        platforms: Platforms,
        documents: HoldingsDocuments,
        policy: Policy,
        registry: Registry,
        limits: Limits,
        label: str,
    ) -> None:
        self._platforms = platforms
        self._documents = documents
        self._policy = policy
        self._registry = registry
        self._limits = limits
        self._mirror = Mirror(platforms, documents, label)
        self._removal = Removal(platforms, documents, policy, registry)

    def loaded(self, agent_id: str) -> list[Holding]:
        """Return the skills that the agent has, without those being loaded or unloaded."""
        return [skill for skill in self._documents.read(agent_id).skills.values() if skill.phase is SkillPhase.LOADED]

    def plan(self, manifest: Manifest) -> SkillPlan:
        """Return what the skill brings. Raise Forbidden or ToolUnavailable as `load` does; nothing is changed."""
        limits = self._limits
        return plan(manifest, self._policy, self._registry, max_chars=limits.max_chars, max_pieces=limits.max_pieces)

    def told(self, manifest: Manifest) -> dict[str, Json]:
        """Return the skill as an agent reads it that cannot be given texts and tools; `problem` is why not all of it.

        That is its directives, the texts of its data, and the MCP servers of its tools, without secrets. For a skill
        that this server does not grant, the answer has only the problem.
        """
        try:
            return as_instructions(manifest, self.plan(manifest))
        except Forbidden as error:
            return {"problem": f"{error.code}: {error.message}"}
        except (ToolUnavailable, InvalidArgument) as error:
            return {"directives": manifest.directives, "problem": f"{error.code}: {error.message}"}

    def load(self, agent_id: str, manifest: Manifest) -> Loaded:
        """Load a skill into the agent.

        Raise Forbidden if the server does not grant what it asks for, ToolUnavailable if a required tool cannot be
        attached (the agent is as before), AgentUnknown, Conflict, or PlatformUnavailable (what was done is undone now,
        or by the next call for this agent).
        """
        planned = self.plan(manifest)
        token = f"load-{secrets.token_hex(8)}"
        wish = _wish(manifest, planned, token)
        optional = frozenset(tool.name for tool, _ in planned.tools if not tool.required)
        outcome = self._reserved(agent_id, lambda all_, now: decisions.reserve(all_, wish, optional, now))
        if isinstance(outcome, Settled):
            assert outcome.holding is not None, "only a loaded skill settles a reservation"
            warnings = self._mirror.show(agent_id)
            return Loaded(
                holding=outcome.holding, plan=planned, already=True, warnings=(*outcome.holding.warnings, *warnings)
            )
        attached = _Attached(warnings=[*planned.warnings, *map(_hidden_tool, outcome.left_out)])
        try:
            done = self._attach(agent_id, outcome.holding, planned, attached)
            confirmed = self._documents.transact(agent_id, lambda all_, _: decisions.confirm(all_, done))
        except DcfError as error:
            self._undo(agent_id, outcome.holding, attached, error)
            raise
        if not confirmed:
            raise _interrupted(manifest.manifest_id)
        return Loaded(
            holding=done, plan=planned, already=False, warnings=(*attached.warnings, *self._mirror.show(agent_id))
        )

    def unload(self, agent_id: str, reference: str) -> Unloaded:
        """Unload a skill. Tools that other skills use, or that the agent had before any skill, stay."""
        token = f"unload-{secrets.token_hex(8)}"
        outcome = self._reserved(agent_id, lambda all_, now: decisions.begin_removal(all_, reference, token, now))
        if isinstance(outcome, Settled):
            return Unloaded(holding=None, warnings=self._mirror.show(agent_id))
        warnings = self._removal.carry_out(agent_id, outcome.holding)
        return Unloaded(holding=outcome.holding, warnings=(*warnings, *self._mirror.show(agent_id)))

    def forget(self, agent_id: str) -> None:
        """Delete the record of an agent that was deleted."""
        self._documents.forget(agent_id)

    def _reserved(
        self, agent_id: str, decide: Callable[[decisions.Holdings, int], tuple[decisions.Holdings, Answer]]
    ) -> "Reserved | Settled":
        """Decide, waiting for other callers; what one left half done is undone first. Raise Conflict on timeout."""
        deadline = time.monotonic() + _PATIENCE_S
        attempt = 0
        while True:
            outcome = self._documents.transact(agent_id, decide)
            if isinstance(outcome, Reserved | Settled):
                return outcome
            if isinstance(outcome, Repair):
                self._repair(agent_id, outcome.holding)
                continue
            assert isinstance(outcome, Busy), "there are no other outcomes"
            attempt += 1
            if time.monotonic() >= deadline:
                raise Conflict(
                    f"Somebody else is changing the skills of agent '{clip(agent_id)}'.",
                    "Repeat the call in a few seconds.",
                )
            time.sleep(JITTER.uniform(0.005, min(0.01 * 2**attempt, 0.2)))

    def _repair(self, agent_id: str, holding: Holding) -> None:
        token = f"repair-{secrets.token_hex(8)}"
        decide = partial(_begin, reference=holding.manifest_id, token=token)
        outcome = self._documents.transact(agent_id, decide)
        if isinstance(outcome, Reserved):
            self._removal.carry_out(agent_id, outcome.holding)

    def _attach(self, agent_id: str, entry: Holding, planned: SkillPlan, attached: _Attached) -> Holding:
        """Give the agent the skill's texts and tools. `attached` records each step, so that a failure can be undone."""
        deadline = time.monotonic() + _BUDGET_S
        before = attached.before = self._platforms.equipper_of(agent_id).tools_of(agent_id)
        noted = self._documents.transact(
            agent_id, lambda all_, _: decisions.note_before(all_, entry.manifest_id, entry.token, before)
        )
        if not noted:
            raise _interrupted(entry.manifest_id)
        self._add_text(agent_id, planned.directives.label, planned.directives.value, attached)
        for tool, wish in planned.tools:
            if tool.name in entry.tools:
                _check_time(deadline)
                self._attach_tool(agent_id, wish, entry.tools[tool.name], attached, required=tool.required)
        for piece in planned.data:
            _check_time(deadline)
            self._add_text(agent_id, piece.label, piece.value, attached)
        return replace(
            entry, before=before, texts=attached.texts, tools=attached.tools, warnings=tuple(attached.warnings)
        )

    def _add_text(self, agent_id: str, label: str, value: str, attached: _Attached) -> None:
        attached.texts[label] = None
        attached.texts[label] = self._platforms.equipper_of(agent_id).add_text(agent_id, label, value)

    def _attach_tool(
        self, agent_id: str, wish: ToolWish, held_tool: HeldTool, attached: _Attached, *, required: bool
    ) -> None:
        attached.tools[wish.name] = held_tool
        try:
            tool_id = self._platforms.equipper_of(agent_id).attach_tool(agent_id, wish)
        except ToolUnavailable as error:
            del attached.tools[wish.name]
            if required:
                raise
            attached.warnings.append(left_out(wish.name, error))
            return
        foreign = tool_id in attached.before if held_tool.foreign is None else held_tool.foreign
        attached.tools[wish.name] = replace(held_tool, tool_id=tool_id, foreign=foreign)

    def _undo(self, agent_id: str, entry: Holding, attached: _Attached, error: DcfError) -> None:
        """Undo a failed load. If that fails too, the record stays and the next call undoes it."""
        if isinstance(error, AgentUnknown):
            self._documents.forget(agent_id)
            return
        attempted = replace(entry, before=attached.before, texts=attached.texts, tools=attached.tools)
        decide = partial(_begin, reference=entry.manifest_id, token=entry.token, attempted=attempted)
        try:
            outcome = self._documents.transact(agent_id, decide)
            if isinstance(outcome, Reserved):
                self._removal.carry_out(agent_id, outcome.holding)
        except DcfError:
            return  # the first error is the one to report; the record still says what must be undone


def _begin(
    all_: decisions.Holdings, now: int, *, reference: str, token: str, attempted: Holding | None = None
) -> tuple[decisions.Holdings, Reserved | Busy | Settled]:
    return decisions.begin_removal(all_, reference, token, now, attempted)


def _wish(manifest: Manifest, planned: SkillPlan, token: str) -> Holding:
    pieces = (planned.directives, *planned.data)
    tools = {tool.name: HeldTool(source=_fingerprint(wish), definition=wish.definition) for tool, wish in planned.tools}
    return Holding(
        manifest_id=manifest.manifest_id,
        name=manifest.name,
        version=manifest.version,
        sha256=manifest.sha256,
        phase=SkillPhase.LOADING,
        token=token,
        until=0,
        texts={piece.label: None for piece in pieces},
        tools=tools,
    )


def _fingerprint(wish: ToolWish) -> str:
    """Return a fingerprint that tells tools of one name apart; headers are left out, as they may hold secrets."""
    server = wish.server or {}
    place = {key: server.get(key) for key in ("name", "url", "command")}
    return definition_sha256({"definition": dict(wish.definition), "server": place})[:16]


def _check_time(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise PlatformUnavailable("The agent platform is too slow to load the skill in time.")


def _hidden_tool(name: str) -> str:
    return f"The optional tool '{clip(name)}' was left out: another skill has a different tool of this name."


def _interrupted(manifest_id: str) -> Conflict:
    return Conflict(f"Loading '{clip(manifest_id)}' took so long that somebody took it back.", "Repeat the call.")
