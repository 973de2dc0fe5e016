"""Every agent platform, one after the other: what is tested here holds for all of them.

Another platform joins by a `Site` of its own in `SITES`. A real Letta joins in `tests/system/letta/platforms`.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from dcf.adapters.mailbox import mailbox_platform
from dcf.adapters.platforms import Platforms
from dcf.ports import MAILBOX, Platform, ToolWish
from dcf.skills.manifest import Manifest, read_manifest
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from dcf.store.lists.assignments import AssignmentIndex
from dcf.workforce.crew.descriptions import Description, wish_of
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.templates import Staffing
from dcf.workforce.crew.workers import Workers
from dcf.workforce.skills.equipment import Equipment, Limits
from dcf.workforce.skills.holdings_documents import HoldingsDocuments
from tests.support.agents.faults import WholePlatform
from tests.support.agents.skill_manifests import REGISTRY
from tests.support.redis.documents import change_document
from tests.support.world import World

MIRROR = "dcf_active_skills"


@dataclass(frozen=True, kw_only=True)
class Site:
    """A platform with what a test needs of it.

    `attachable(name)` wishes for a tool that is there, `missing` for one that never is. `blocks(agent_id)` are the
    texts of an agent by label, `tool_names(agent_id)` its tools.
    """

    platform: WholePlatform
    agent: Mapping[str, Any]
    bundle: Mapping[str, Any]
    attachable: Callable[[str], ToolWish]
    missing: ToolWish
    blocks: Callable[[str], dict[str, str]]
    tool_names: Callable[[str], list[str]]
    registry: Mapping[str, Any] = field(default_factory=lambda: REGISTRY)

    def make(self, *tags: str) -> str:
        """One more agent."""
        name = f"test {secrets.token_hex(4)}"
        return self.platform.create_agent(wish_of(name, tags, self.description))

    def staffing(self, *states: str) -> list[Staffing]:
        return [Staffing(state=state, description=self.description) for state in states]

    @property
    def description(self) -> Description:
        return Description(agent=self.agent, bundle=self.bundle)


def _mailbox(world: World) -> Site:
    def blocks(agent_id: str) -> dict[str, str]:
        record = world.records.get(agent_id)
        return {} if record is None else {block["label"]: block["value"] for block in record.blocks.values()}

    def tool_names(agent_id: str) -> list[str]:
        record = world.records.get(agent_id)
        return [] if record is None else sorted(tool["name"] for tool in record.tools.values())

    def attachable(name: str) -> ToolWish:
        return ToolWish(
            name=name,
            definition={"type": "mcp_server", "serverId": "orders", "toolName": name},
            server={"name": "orders", "transport": "streamable_http", "url": "http://stub.example:8765/mcp"},
        )

    source = {"type": "python_source", "sourceCode": "def f(): ..."}
    return Site(
        platform=world.mailbox,
        agent={"id": "agent-0", "name": "worker", "block_ids": ["block-0"], "tool_ids": ["tool-0"]},
        bundle={
            "blocks": [{"id": "block-0", "label": "persona", "value": "You are a worker."}],
            "tools": [{"id": "tool-0", "name": "acquire_state_lease"}],
        },
        attachable=attachable,
        missing=ToolWish(name="never", definition=source),
        blocks=blocks,
        tool_names=tool_names,
    )


SITES: dict[str, Callable[[World], Site]] = {"mailbox": _mailbox}


@pytest.fixture(params=sorted(SITES))
def site(request: pytest.FixtureRequest, real: World) -> Site:
    return SITES[request.param](real)


@pytest.fixture
def platform(site: Site) -> WholePlatform:
    return site.platform


@dataclass(kw_only=True)
class Workshop:
    """Equipment and workers on one platform, with a registry file and a policy that a test may choose."""

    world: World
    site: Site
    directory: Path

    def __post_init__(self) -> None:
        (self.directory / "registry.json").write_text(json.dumps(self.site.registry))

    def with_registry(self, registry: Mapping[str, Any]) -> "Workshop":
        """The same with other servers."""
        site = replace(self.site, registry=registry)
        return Workshop(world=self.world, site=site, directory=self.directory)

    def equipment(self, platform: WholePlatform | None = None, *, max_pieces: int = 32, **policy: Any) -> Equipment:
        return Equipment(
            self.platforms(platform),
            HoldingsDocuments(self.world.documents),
            Policy(**policy),
            Registry(path=self.directory / "registry.json"),
            Limits(max_chars=100, max_pieces=max_pieces),
            MIRROR,
        )

    def workers(self, platform: WholePlatform | None = None) -> Workers:
        return Workers(
            self.platforms(platform),
            RosterDocuments(self.world.documents),
            self.world.store,
            AssignmentIndex(self.world.connections),
            self.equipment(platform),
        )

    def platforms(self, platform: WholePlatform | None = None) -> Platforms:
        """Those of a process whose agents are on this platform, by default the site's."""
        deliverer = platform or self.site.platform
        chosen = Platform(
            kind=deliverer.kind,
            deliverer=deliverer,
            provisioner=deliverer,
            equipper=deliverer,
            is_own_id=lambda _: True,
            lift_limits=deliverer.lift_return_limits,
        )
        mailbox = mailbox_platform(self.world.mailbox)
        return Platforms(
            [chosen] if deliverer.kind == MAILBOX else [mailbox, chosen], self.world.records, deliverer.kind
        )

    def expire(self, key: str) -> None:
        """As if the process that reserved something under this key had died long ago."""
        change_document(self.world.ask, key, _end_reservations)


def _end_reservations(found: object) -> None:
    """Set all times until which something is reserved, however deep, to long ago."""
    if isinstance(found, dict):
        found |= {"until": 0} if "until" in found else {}
        for inner in found.values():
            _end_reservations(inner)
    elif isinstance(found, list):
        for inner in found:
            _end_reservations(inner)


@pytest.fixture
def workshop(real: World, site: Site, tmp_path: Path) -> Workshop:
    return Workshop(world=real, site=site, directory=tmp_path)


def read(document: Mapping[str, Any]) -> Manifest:
    return read_manifest(dict(document))
