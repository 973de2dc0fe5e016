"""Which platform each agent has: by its record, by the form of its id, else the mailbox. Delivers, and finds the rest.

A process may have several platforms, and the agents of one run may be on all of them. Records are cached for a moment.
If this process lacks the platform of an agent, the event stays in the outbox: a process with the platform delivers it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from dcf.errors import InvalidArgument, PlatformUnavailable
from dcf.ports import MAILBOX, Delivery, Equipper, Platform, Post, Provisioner, Undelivered
from dcf.store.lists.agents import AgentRecord, AgentRecords
from dcf.telemetry.tracing import with_header
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.text_pieces import clip

Port = TypeVar("Port")

KEPT_S: Final = 5.0
"""Seconds for which it is kept which platform an agent has."""

_MOST_KEPT: Final = 10_000
_ELSEWHERE_RETRY_S: Final = 2.0
"""Seconds after which an event for an agent whose platform is not here is offered again, to any process."""


class Platforms:
    """The platforms of this process, and the platform of each agent. Thread-safe.

    `platforms` has the mailbox and others; `default` is the kind on which agents are made that name none.
    """

    def __init__(
        self,
        platforms: Sequence[Platform],
        records: AgentRecords,
        default: str = MAILBOX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_kind = {platform.kind: platform for platform in platforms}
        self._mailbox = self._by_kind[MAILBOX]
        self._records = records
        self._monotonic = monotonic
        self._kept: dict[str, tuple[str, float]] = {}
        self.default = default

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of platform that this process has."""
        return tuple(self._by_kind)

    @property
    def all(self) -> tuple[Platform, ...]:
        """The platforms of this process."""
        return tuple(self._by_kind.values())

    def get(self, kind: str | None) -> Platform:
        """Return the platform of this kind, or the default one. Raise InvalidArgument if this process lacks it."""
        platform = self._by_kind.get(self.default if kind is None else kind)
        if platform is None:
            raise InvalidArgument(
                f"There is no agent platform '{clip(str(kind or self.default))}' here.",
                f"This process has {', '.join(self._by_kind)}. Letta needs LETTA_BASE_URL.",
            )
        return platform

    def known(self, kind: str) -> Platform | None:
        """Return the platform of this kind; None if this process lacks it."""
        return self._by_kind.get(kind)

    def kinds_of(self, agent_ids: Sequence[str]) -> dict[str, str]:
        """Return the kinds of these agents' platforms, which this process may lack; unknown ones are read together."""
        now = self._monotonic()
        kinds = {
            agent_id: cached[0]
            for agent_id in agent_ids
            if (cached := self._kept.get(agent_id)) is not None and cached[1] > now
        }
        unknown = [agent_id for agent_id in dict.fromkeys(agent_ids) if agent_id not in kinds]
        if unknown:
            noted = self._records.platforms_of(unknown)
            read = {agent_id: noted.get(agent_id) or self._by_form(agent_id) for agent_id in unknown}
            if len(self._kept) + len(read) > _MOST_KEPT:
                self._kept.clear()
            self._kept |= {agent_id: (kind, now + KEPT_S) for agent_id, kind in read.items()}
            kinds |= read
        return kinds

    def remote_kinds_of(self, agent_ids: Sequence[str]) -> dict[str, str]:
        """Return the kinds of those agents' platforms that are remote, of the platforms that this process has."""
        remote = {kind for kind, platform in self._by_kind.items() if platform.deliverer.is_remote}
        return (
            {agent_id: kind for agent_id, kind in self.kinds_of(agent_ids).items() if kind in remote} if remote else {}
        )

    def kind_of(self, agent_id: str) -> str:
        """Return the kind of the agent's platform, which this process may lack."""
        return self.kinds_of((agent_id,))[agent_id]

    def of(self, agent_id: str) -> Platform:
        """Return the agent's platform. Raise PlatformUnavailable if this process lacks it."""
        kind = self.kind_of(agent_id)
        platform = self._by_kind.get(kind)
        if platform is None:
            raise PlatformUnavailable(_lacking(agent_id, kind), retry_after_s=_ELSEWHERE_RETRY_S)
        return platform

    def provisioner_of(self, agent_id: str) -> Provisioner:
        """Return what finds and deletes the agent: its platform, or the mailbox, which has the records."""
        return _own(self.of(agent_id).provisioner, self._mailbox.provisioner)

    def equipper_of(self, agent_id: str) -> Equipper:
        """Return what gives the agent texts and tools: its platform, or its record, which it reads."""
        return _own(self.of(agent_id).equipper, self._mailbox.equipper)

    def equips(self, agent_id: str) -> bool:
        """Return True if the agent's platform gives it texts and tools; else the agent reads them in its record."""
        kind = self.kind_of(agent_id)
        platform = self._by_kind.get(kind)
        return kind != MAILBOX and platform is not None and platform.equipper is not None

    def maker(self, kind: str | None) -> tuple[str, Provisioner]:
        """Return the kind, and what makes agents of it. Raise InvalidArgument if nothing does."""
        platform = self.get(kind)
        if platform.provisioner is None:
            raise InvalidArgument(
                f"Agents of the platform '{platform.kind}' are not made here.",
                "Register the agent, then name it in agent_ref, or assign it to its Tasks.",
            )
        return platform.kind, platform.provisioner

    def provisioners(self) -> dict[str, Provisioner]:
        """Return what finds agents, by kind."""
        return {
            platform.kind: platform.provisioner
            for platform in self._by_kind.values()
            if platform.provisioner is not None
        }

    def register(
        self,
        agent_id: str,
        kind: str,
        *,
        name: str | None = None,
        tags: tuple[str, ...] = (),
        contact: Mapping[str, Json] | None = None,
    ) -> None:
        """Record on which platform an agent lives, and how it is reached there. The mailbox needs no record."""
        if kind == MAILBOX:
            return
        self._records.create(
            AgentRecord(agent_id=agent_id, name=name or agent_id, tags=tags, platform=kind, contact=contact or {})
        )
        self._kept.pop(agent_id, None)

    def recorded(self, agent_id: str) -> str | None:
        """Return the kind of platform that the agent's record names; None for an agent without a record."""
        return self._records.platforms_of((agent_id,)).get(agent_id)

    def without_trace(self, agent_ids: Sequence[str]) -> list[str]:
        """Return those agents of the mailbox that have neither a record nor an inbox; others their platform knows."""
        unseen = self._records.without_trace(agent_ids)
        kinds = self.kinds_of(unseen)
        return [agent_id for agent_id in unseen if kinds[agent_id] == MAILBOX]

    def forget(self, agent_id: str) -> None:
        """Delete the record of an agent that is gone from its platform."""
        if self.kind_of(agent_id) != MAILBOX:  # the mailbox's provisioner has deleted the record itself
            self._records.delete(agent_id)
        self._kept.pop(agent_id, None)

    @property
    def is_remote(self) -> bool:
        """True if some agents are behind one server, which may be down with all of them."""
        return any(platform.deliverer.is_remote and platform.has_one_server for platform in self._by_kind.values())

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Deliver the event to the agent's platform, if this process has it."""
        kind = self.kind_of(agent_id)
        platform = self._by_kind.get(kind)
        if platform is None:
            return lacking(agent_id, kind)
        return platform.deliverer.deliver(agent_id, event_id, with_header(event))

    def deliver_all(self, posts: Sequence[Post]) -> list[Delivery]:
        """Deliver several events, those to one platform in one step where it can do that."""
        kinds = self.kinds_of([post.agent_id for post in posts])
        done: dict[int, Delivery] = {}
        for kind, platform in self._by_kind.items():
            there = [at for at, post in enumerate(posts) if kinds[post.agent_id] == kind]
            if there and platform.deliver_all is not None:
                done |= zip(there, platform.deliver_all([_traced(posts[at]) for at in there]), strict=True)
        return [
            done[at] if at in done else self.deliver(post.agent_id, post.event_id, post.event)
            for at, post in enumerate(posts)
        ]

    def _by_form(self, agent_id: str) -> str:
        return next((platform.kind for platform in self._by_kind.values() if platform.is_own_id(agent_id)), MAILBOX)


def lacking(agent_id: str, kind: str) -> Delivery:
    """Return the outcome for an agent whose platform this process lacks."""
    return Delivery(failure=Undelivered.NO_PLATFORM, error=_lacking(agent_id, kind), retry_after_s=_ELSEWHERE_RETRY_S)


def _traced(post: Post) -> Post:
    event = with_header(post.event)
    return post if event is post.event else replace(post, event=event)


def _lacking(agent_id: str, kind: str) -> str:
    return f"Agent '{clip(agent_id)}' is on the platform '{clip(kind)}', which this process does not have."


def _own(own: Port | None, of_records: Port | None) -> Port:
    port = own if own is not None else of_records
    assert port is not None, "the mailbox has all ports"
    return port
