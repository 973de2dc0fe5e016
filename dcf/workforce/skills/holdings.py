"""Records of the skills that an agent has, and the pure decisions about them. Calls no platform.

A skill is recorded as loading before anything is attached, and as unloading before anything is removed. So after a
crash the record tells what may be there. While a skill is loading or unloading, only the caller with its `token` may
change it until `until`; after that any caller may undo it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from dcf.errors import Conflict
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.manifests import SCHEME

HOLD: Final = 180 * SECOND
"""Microseconds for which a skill being loaded or unloaded is reserved for the caller that began it."""


class SkillPhase(StrEnum):
    """The phase a skill is in on an agent."""

    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"


@record(frozen=True, slots=True, kw_only=True)
class HeldTool:
    """A tool that a skill uses. `foreign` is True if the agent had it before any skill, None until that is known.

    `source` is a fingerprint of its definition and server. `definition` is kept to find the tool again after a crash.
    """

    source: str
    definition: Mapping[str, Json]
    tool_id: str | None = None
    foreign: bool | None = None


@record(frozen=True, slots=True, kw_only=True)
class Holding:
    """One skill of an agent. `texts` maps labels to block ids, directives first; None means that it may not exist.

    `before` are the ids of the tools that the agent had when attaching began; None: nothing was attached yet. `detach`
    names the tools that unloading removes, because no other skill uses them. `until` is in server microseconds.
    """

    manifest_id: str
    name: str
    version: str
    sha256: str
    phase: SkillPhase
    token: str
    until: int
    texts: Mapping[str, str | None] = field(default_factory=dict)
    tools: Mapping[str, HeldTool] = field(default_factory=dict)
    before: tuple[str, ...] | None = None
    detach: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def text_pairs(self) -> list[tuple[str, str | None]]:
        """The texts in their order, each as a pair of label and block id."""
        return list(self.texts.items())

    @property
    def directives_id(self) -> str | None:
        """Id of the directives' block."""
        return next(iter(self.texts.values()), None)

    @property
    def data_ids(self) -> list[str]:
        """Ids of the data sources' blocks."""
        return [block_id for block_id in list(self.texts.values())[1:] if block_id is not None]

    @property
    def tool_ids(self) -> list[str]:
        """Ids of the tools, shared ones included."""
        return [tool.tool_id for tool in self.tools.values() if tool.tool_id is not None]

    def is_called(self, reference: str) -> bool:
        """Return True if a reference names this skill: its id, `name@version`, or a skill:// URI."""
        versioned = f"{self.name}@{self.version}".lower()
        return reference == self.manifest_id or reference.removeprefix(SCHEME).lower() == versioned


@record(frozen=True, slots=True, kw_only=True)
class Holdings:
    """All skills of an agent. `revision` grows with every change; `mirrored` is the one last shown to the agent."""

    skills: Mapping[str, Holding] = field(default_factory=dict)
    revision: int = 0
    mirrored: int = 0
    mirror_id: str | None = None

    def with_skill(self, holding: Holding, *, finished: bool = False) -> "Holdings":
        """Return the record with one skill replaced. `finished` counts it as a change that the agent must be shown."""
        return replace(
            self,
            skills={**self.skills, holding.manifest_id: holding},
            revision=self.revision + (1 if finished else 0),
        )

    def without(self, manifest_id: str) -> "Holdings":
        """Return the record without one skill."""
        left = {name: skill for name, skill in self.skills.items() if name != manifest_id}
        return replace(self, skills=left, revision=self.revision + 1)

    def find(self, reference: str) -> Holding | None:
        """Find a skill by its id, `name@version` or skill:// URI."""
        return next((skill for skill in self.skills.values() if skill.is_called(reference)), None)

    def others(self, manifest_id: str) -> Iterator[Holding]:
        """Return the other skills."""
        return (skill for name, skill in self.skills.items() if name != manifest_id)


@record(frozen=True, slots=True)
class Reserved:
    """The caller may now attach what the record says.

    `left_out` names optional tools that cannot be attached, since a loaded skill has another tool of that name.
    """

    holding: Holding
    left_out: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class Busy:
    """Another caller is loading or unloading something that this depends on."""


@record(frozen=True, slots=True)
class Repair:
    """An earlier caller left this skill half loaded or unloaded: that must be undone first."""

    holding: Holding


@record(frozen=True, slots=True)
class Settled:
    """Nothing is to be done: the skill is loaded already, or there is none (None)."""

    holding: Holding | None


def reserve(
    holdings: Holdings, wish: Holding, optional: frozenset[str], now: int
) -> tuple[Holdings, Reserved | Busy | Repair | Settled]:
    """Record that a skill is being loaded, unless it is loaded or another caller must finish first. Raise Conflict."""
    own = holdings.skills.get(wish.manifest_id)
    if own is not None and own.phase is SkillPhase.LOADED:
        if own.sha256 != wish.sha256:
            raise Conflict(
                f"The skill '{clip(wish.manifest_id)}' is loaded with another content.",
                "Unload it with `unload_skill`, then load the new one.",
            )
        return holdings, Settled(own)
    if own is not None and own.token == wish.token:
        return holdings, Reserved(own)
    stale = next((skill for skill in holdings.skills.values() if _is_stale(skill, now)), None)
    if stale is not None:
        return holdings, Repair(stale)
    if own is not None or any(_is_in_the_way(holding, wish) for holding in holdings.others(wish.manifest_id)):
        return holdings, Busy()
    _refuse_same_labels(holdings, wish)
    hidden = _hidden(holdings, wish)
    refused = next((name for name in hidden if name not in optional), None)
    if refused is not None:
        raise Conflict(
            f"The tool '{clip(refused)}' is another tool of the same name in a skill that is loaded.",
            "Unload that skill first, or rename the tool in the manifest.",
        )
    if not holdings.revision:
        # Not from 0: a record that was deleted and created again must not repeat a revision.
        holdings = replace(holdings, revision=now, mirrored=now)
    tools = {name: _inherited(holdings, name, tool) for name, tool in wish.tools.items() if name not in hidden}
    entry = replace(wish, phase=SkillPhase.LOADING, until=now + HOLD, tools=tools)
    return holdings.with_skill(entry), Reserved(entry, tuple(hidden))


def note_before(holdings: Holdings, manifest_id: str, token: str, before: tuple[str, ...]) -> tuple[Holdings, bool]:
    """Record the tools that the agent had before. False: another caller has taken over."""
    own = holdings.skills.get(manifest_id)
    if own is None or own.token != token or own.phase is not SkillPhase.LOADING:
        return holdings, False
    return holdings.with_skill(replace(own, before=before)), True


def confirm(holdings: Holdings, done: Holding) -> tuple[Holdings, bool]:
    """Record that a skill is loaded. False: another caller has taken over."""
    own = holdings.skills.get(done.manifest_id)
    if own is None or own.token != done.token:
        return holdings, False
    if own.phase is SkillPhase.LOADED:
        return holdings, True
    if own.phase is not SkillPhase.LOADING:
        return holdings, False
    return holdings.with_skill(replace(done, phase=SkillPhase.LOADED), finished=True), True


def begin_removal(
    holdings: Holdings, reference: str, token: str, now: int, attempted: Holding | None = None
) -> tuple[Holdings, Reserved | Busy | Settled]:
    """Record that a skill is being unloaded. `attempted` is what a failed load may have done, if less than intended."""
    own = holdings.find(reference)
    if own is None:
        return holdings, Settled(None)
    if own.phase is not SkillPhase.LOADED and own.token != token and not _is_stale(own, now):
        return holdings, Busy()
    if own.phase is SkillPhase.UNLOADING and own.token == token:
        return holdings, Reserved(own)
    known = own if attempted is None else attempted
    detach = tuple(
        name
        for name, tool in known.tools.items()
        if not tool.foreign and not any(_keeps(holding, name) for holding in holdings.others(own.manifest_id))
    )
    entry = replace(known, phase=SkillPhase.UNLOADING, token=token, until=now + HOLD, detach=detach)
    return holdings.with_skill(entry), Reserved(entry)


def end_removal(holdings: Holdings, manifest_id: str, token: str) -> Holdings:
    """Delete the record of a skill that was removed, unless another caller has taken over."""
    own = holdings.skills.get(manifest_id)
    if own is None or own.phase is not SkillPhase.UNLOADING or own.token != token:
        return holdings
    return holdings.without(manifest_id)


def give_up_removal(holdings: Holdings, manifest_id: str, token: str) -> Holdings:
    """Let any caller continue this removal at once."""
    own = holdings.skills.get(manifest_id)
    if own is None or own.token != token:
        return holdings
    return holdings.with_skill(replace(own, until=0))


def _is_stale(holding: Holding, now: int) -> bool:
    """Return True if no caller has it reserved. A reservation beyond `HOLD` is invalid: the clock stepped back."""
    return holding.phase is not SkillPhase.LOADED and not now < holding.until <= now + HOLD + SECOND


def _keeps(holding: Holding, tool: str) -> bool:
    return holding.phase is not SkillPhase.UNLOADING and tool in holding.tools


def _is_in_the_way(holding: Holding, wish: Holding) -> bool:
    """Return True if a skill being changed uses a tool or label of `wish`.

    Until that change is done, it is not known which skill the tool or label belongs to.
    """
    if holding.phase is SkillPhase.LOADED:
        return False
    tools = holding.tools if holding.phase is SkillPhase.LOADING else holding.detach
    return any(name in tools for name in wish.tools) or any(label in holding.texts for label in wish.texts)


def _refuse_same_labels(holdings: Holdings, wish: Holding) -> None:
    for holding in holdings.others(wish.manifest_id):
        if any(label in holding.texts for label in wish.texts):
            raise Conflict(
                f"The skill '{clip(holding.manifest_id)}', which is loaded, brings data of the same names.",
                "Unload it first; two versions of one skill cannot be loaded together.",
            )


def _hidden(holdings: Holdings, wish: Holding) -> list[str]:
    return [
        name
        for name, tool in wish.tools.items()
        for holding in holdings.others(wish.manifest_id)
        if _keeps(holding, name) and holding.tools[name].source != tool.source
    ]


def _inherited(holdings: Holdings, name: str, tool: HeldTool) -> HeldTool:
    """Copy from a loaded skill that uses the tool whether the agent had it before."""
    for skill in holdings.skills.values():
        if _keeps(skill, name):
            return replace(tool, foreign=skill.tools[name].foreign)
    return tool
