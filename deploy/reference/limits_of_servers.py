"""Limits of servers and their callers: requests, answers, pages, connections, quotas of keys."""

from collections.abc import Mapping
from typing import Final

from dcf.features.agent_context import rules as agent_context
from dcf.features.diagnosis import storage as diagnosis
from dcf.features.journal import query as journal_query
from dcf.features.search import operations as searching
from dcf.features.search import ranking
from dcf.features.usage import periods
from dcf.features.work import listing
from dcf.runs.views import histories
from dcf.store.access import audit_trail
from dcf.store.events import inbox
from dcf.store.text_index import index
from dcf.tools.mcp import run_watch
from dcf.tools.mcp.selection import select_tools
from dcf.web.live import readers
from deploy.reference.limits_of_content import DEFAULTS, Limit, fixed, setting
from deploy.reference.settings import number

_TOOLS: Final = {spec.name: spec for spec in select_tools((), read_only=False)}
_PAGE: Final = _TOOLS["list_runs"].arguments.model_json_schema()["properties"]["limit"]["maximum"]

SECTIONS: Final[Mapping[str, tuple[Limit, ...]]] = {
    "Answers and pages": (
        setting(
            "an answer",
            "max_result_bytes",
            "lists end between two items, with `next_cursor`; `too_large` where one item is too long",
        ),
        Limit("states, skills or runs of one page", number(_PAGE), "argument `limit`", "`next_cursor`"),
        Limit("items of a page of work", number(listing.LONGEST_PAGE), "argument `limit`", "`next_cursor`"),
        fixed("entries of one page of a journal", journal_query.LONGEST_PAGE, "`invalid_argument`"),
        fixed(
            "entries of a history that one page looks through",
            histories.MOST_EXAMINED,
            "the page has fewer, and `next_cursor`",
        ),
        fixed(
            "open states that `dcf why` looks at",
            diagnosis.MOST,
            "those that need attention first; the answer says how many more there are",
        ),
        Limit("bytes of a context", number(agent_context.MOST_BYTES), "argument `max_bytes`", "`left_out`"),
        fixed(
            "runs whose journals, artifacts and outputs one search looks through",
            searching.MOST_RUNS,
            "`covered` says so",
        ),
        Limit(
            "results of one search over everything",
            number(ranking.MOST_HITS),
            "argument `limit`",
            "the best are returned",
        ),
        fixed(
            "entries that a search by several words orders together",
            index.BLOCK,
            "others come after them; `total` is then a lower bound",
        ),
        Limit(
            "days of one answer about usage",
            number(periods.MOST_DAYS),
            "arguments `since`, `until`",
            "`invalid_argument`",
        ),
    ),
    "HTTP": (
        setting("an HTTP request", "max_body_bytes", "413"),
        setting(
            "JSON values of an HTTP request", "max_request_values", "413; a document sent as JSON text is one value"
        ),
        setting(
            "bodies of HTTP requests that one server holds, without the first 64 KiB of each",
            "max_bodies_bytes",
            "503 with `Retry-After`",
        ),
        setting("bodies of HTTP requests of one key", "max_caller_bodies_bytes", "429 with `Retry-After`"),
        setting(
            "seconds until the headers of a request have arrived",
            "header_timeout_s",
            "408, the connection is closed",
        ),
        setting(
            "seconds until the body of a request has arrived, or its answer is taken",
            "body_timeout_s",
            "408, the connection is closed",
        ),
        setting(
            "connections of one server",
            "max_connections",
            "the longest idle one is closed; where all are at work, 503, but for health checks",
            more=", fewer where it may open fewer than 1,608 files; each waiting agent has one",
        ),
        setting(
            "connections from one address",
            "max_connections_per_peer",
            "the same; behind a proxy set it as high as the limit before",
        ),
        fixed(
            "live pages that are open at a server",
            f"{readers.MOST}, and {readers.MOST_OF_ONE} of one caller",
            "the page is a snapshot: 429 and the reason",
        ),
        fixed(
            "runs that one stream of a client listens to",
            f"{run_watch.MOST_OF_ONE}, and {run_watch.MOST_OF_CALLER} of one caller, {run_watch.MOST} in all",
            "the request is invalid",
        ),
        setting(
            "seconds that a log-in at the web page lasts, however busy", "web_session_s", "it asks for the key again"
        ),
        setting("seconds after its last request at which a log-in ends", "web_idle_s", "it asks for the key again"),
    ),
    "API keys": (
        Limit(
            "requests of one key, over all servers",
            f"{number(DEFAULTS['rate_per_s'].default)} a second after {DEFAULTS['rate_burst'].default} at once",
            "`DCF_RATE_PER_S`, `DCF_RATE_BURST`",
            "`rate_limited` with `retry_after_s`",
        ),
        Limit(
            "events of runs by one key, over all servers",
            f"{number(DEFAULTS['quota_events_per_s'].default)} a second after "
            f"{number(DEFAULTS['quota_events_burst'].default)} at once",
            "`DCF_QUOTA_EVENTS_PER_S`, `DCF_QUOTA_EVENTS_BURST`",
            "`rate_limited` with `retry_after_s`",
        ),
        setting(
            "calls of one key that run at the same time, by one server",
            "max_concurrency",
            "`rate_limited` with `retry_after_s`",
            more=", long polls included",
        ),
        setting("bytes that one key holds", "quota_stored_bytes", "`quota_exceeded`"),
        setting("documents that one key holds", "quota_documents", "`quota_exceeded`"),
        setting("live runs that one key created", "quota_live_runs", "`quota_exceeded`"),
        setting("bytes of artifacts that one key holds", "quota_artifact_bytes", "`quota_exceeded`"),
        setting("entries in inboxes by one key's notifications", "quota_inbox_entries", "`quota_exceeded`"),
        fixed(
            "unread events of runs of one creator in an inbox",
            inbox.MOST_UNREAD,
            "they wait in the outboxes of their runs",
        ),
        fixed(
            "entries of one key in the audit trail, two for a change", audit_trail.KEPT, "its own oldest are deleted"
        ),
    ),
}
