"""Opens the agent platforms of one process from its settings: a function for each kind. It must not decide.

A kind joins by its function in `KINDS`. The function gets the parts of the process, and yields the platform, or None
if the settings do not configure it. Facts about one agent, such as a URL, are in the agent's record.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, TypeAlias

from dcf.adapters.mailbox import Mailbox, mailbox_platform
from dcf.data import find_file
from dcf.errors import InvalidArgument
from dcf.features.webhooks.deliverer import KIND as WEBHOOK
from dcf.features.webhooks.deliverer import WebhookDeliverer, webhook_platform
from dcf.features.webhooks.operations import Offers
from dcf.features.webhooks.posting import Poster
from dcf.features.webhooks.storage import Webhooks
from dcf.ports import MAILBOX, Platform
from dcf.settings.process import Settings
from dcf.skills.servers import Registry
from dcf.store.connection.connections import Connections
from dcf.store.events.deliveries import SharedDeliveries
from dcf.store.lists.agents import AgentRecords
from dcf.values.json_text import Json
from dcf.values.records import record

TASK_TOKENS: Final = "/task-tokens"
"""Where a server takes task tokens."""


@record(frozen=True, slots=True, kw_only=True)
class PlatformParts:
    """The parts of a platform. `records` has the facts about each agent, `offers` the work for webhooks."""

    settings: Settings
    connections: Connections
    records: AgentRecords
    mailbox: Mailbox
    webhooks: Webhooks
    offers: Offers


Opening: TypeAlias = Callable[[PlatformParts], AbstractContextManager[Platform | None]]
"""Opens a platform for the duration of a `with` block; yields None where the settings do not ask for it."""


@contextmanager
def _open_mailbox(parts: PlatformParts) -> Iterator[Platform | None]:
    yield mailbox_platform(parts.mailbox)


@contextmanager
def _open_letta(parts: PlatformParts) -> Iterator[Platform | None]:
    settings = parts.settings
    if settings.letta_base_url is None:
        yield None
        return
    try:
        from dcf.adapters import letta  # an optional dependency
    except ImportError:
        raise InvalidArgument(
            "LETTA_BASE_URL is set, but the Letta client is not installed.",
            "Install it: pip install 'dcf-mcp[letta]'",
        ) from None
    key = settings.letta_api_key
    registry = Registry(path=find_file(settings.skill_registry) or settings.skill_registry)
    options = letta.LettaOptions(
        base_url=settings.letta_base_url,
        api_key=None if key is None else key.get_secret_value(),
        model=settings.letta_model,
        embedding=settings.letta_embedding,
        run_deadline_s=settings.letta_run_deadline_s,
        allow_python_source=settings.allow_python_source_skills,
        mcp_servers={"dcf": _own_server(settings)},
        find_server=registry.server,
    )
    with letta.LettaPlatform(options, SharedDeliveries(parts.connections)) as platform:
        yield platform.as_platform()


@contextmanager
def _open_webhook(parts: PlatformParts) -> Iterator[Platform | None]:
    settings = parts.settings
    answers = (settings.public_url or settings.server_url).removesuffix("/mcp") + TASK_TOKENS
    poster = Poster(settings.webhook_endpoints)
    yield webhook_platform(WebhookDeliverer(parts.webhooks, parts.offers, poster, answers))


KINDS: Final[Mapping[str, Opening]] = {MAILBOX: _open_mailbox, "letta": _open_letta, WEBHOOK: _open_webhook}
"""How each kind of platform is opened."""


@contextmanager
def open_platforms(parts: PlatformParts) -> Iterator[tuple[Platform, ...]]:
    """Open the platforms that the settings ask for; the mailbox is always one of them."""
    with ExitStack() as resources:
        opened = [resources.enter_context(opening(parts)) for opening in KINDS.values()]
        yield tuple(platform for platform in opened if platform is not None)


def default_kind(settings: Settings) -> str:
    """Return where agents are made that name no platform: as set, else on the Letta server if there is one."""
    if settings.agent_platform is not None:
        return settings.agent_platform
    return MAILBOX if settings.letta_base_url is None else "letta"


def _own_server(settings: Settings) -> dict[str, Json]:
    """Return the address and API key by which agents on a remote platform reach this server."""
    key = settings.api_key
    headers = {"X-DCF-Profile": "all"}  # there all agents share the tools of one server
    headers |= {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
    return {
        "name": settings.server_name,
        "transport": "streamable_http",
        "url": settings.server_url,
        "headers": headers,
    }
