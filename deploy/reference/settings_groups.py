"""The groups of the settings page: which variables belong together, and what a reader must know of them."""

from typing import Final, NamedTuple


class Group(NamedTuple):
    """Variables below one heading, and the text below their table."""

    title: str
    names: tuple[str, ...]
    notes: str = ""


GROUPS: Final = (
    Group(
        "Redis",
        (
            "REDIS_URL",
            "DCF_REDIS_PASSWORD_FILE",
            "DCF_DOCUMENTS",
            "DCF_WAIT_REPLICAS",
        ),
        """
        `REDIS_URL` takes `redis://`, `rediss://`, `unix://`, `redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DB` and
        `redis+cluster://HOST:PORT,HOST:PORT` ([scaling](../explanation/scaling.md)), with Redis or Valkey from 7.0
        on. Without it dcf starts the server of the extra `embedded`, else one on PATH ([platforms](platforms.md)).

        The password file is read for every new connection, so the password may change, as IAM tokens do ([managed
        Redis](../operating/managed-redis.md)).

        A Redis keeps the form of documents that it has until `dcf store move` ([stored
        documents](../decisions/storage/stored-documents.md)). `text` needs no module.

        `DCF_WAIT_REPLICAS` is for Sentinel: a failover then cannot lose an acknowledged write.
        """,
    ),
    Group(
        "Embedded Redis",
        (
            "DCF_DATA_DIR",
            "DCF_APPENDFSYNC",
            "DCF_MAXMEMORY",
        ),
        """
        The processes of one user share the data directory and its server.

        With `everysec`, a killed `redis-server` or a power loss may cost the last two seconds of acknowledged
        writes: Redis answers before a write is in its file while a sync runs. With `always` nothing is lost, and a
        write takes as long as the disk's sync.

        Beyond `DCF_MAXMEMORY` writes are rejected with `store_unavailable`, and no data is dropped.
        """,
    ),
    Group(
        "Server",
        (
            "DCF_MCP_HOST",
            "DCF_MCP_PORT",
            "DCF_MCP_ENABLE_DNS_REBINDING_PROTECTION",
            "DCF_MCP_ALLOWED_HOSTS",
            "DCF_MCP_ALLOWED_ORIGINS",
            "DCF_PUBLIC_URL",
            "DCF_AUTH",
            "DCF_TASK_TOKENS",
            "DCF_METRICS_PORT",
            "DCF_LOG_FORMAT",
            "DCF_PULSE_INTERVAL_S",
        ),
        """
        `DCF_AUTH=off` works on loopback only, as `dcf serve --auth off` does ([API keys](../operating/api-keys.md)).
        With `DCF_TASK_TOKENS=alone`, `POST /task-tokens/success`, `failure` and `heartbeat` need no API key
        ([callbacks](../guides/callbacks.md)). Metrics: [metrics](../operating/monitoring.md). Logs:
        [telemetry](../operating/tracing.md).
        """,
    ),
    Group(
        "Tools that are served",
        (
            "DCF_TOOLSETS",
            "DCF_READ_ONLY",
            "DCF_ALLOW_OPERATOR",
            "DCF_PROFILE",
            "DCF_OUTPUT_SCHEMAS",
            "DCF_PROFILE_DIRECTORY",
            "DCF_PROFILE_LEASE_S",
        ),
        """
        The toolsets are the headings of [tools](tools.md). They also limit resources, prompts and A2A.

        A profile says which tools are listed; the others can be called all the same. `auto` chooses by the scopes
        of the key, and lists all tools to the local user. `deepwork`, `openfactory`, `midex` and `mission-control`
        serve the tools of that system alone ([profiles](compatibility/README.md)).

        With `DCF_OUTPUT_SCHEMAS` every list of tools has the schemas of answers; without it, a list that a client
        asks for with the header `X-DCF-Output-Schemas: true`. The lists are twice as long with them.

        The scopes of `DCF_ALLOW_OPERATOR` allow `force`, `require_owner_match=false` and changes of documents by
        hand.
        """,
    ),
    Group(
        "Clients and workers",
        (
            "DCF_SERVER_URL",
            "DCF_SERVER_NAME",
            "DCF_API_KEY",
            "DCF_HELPER_KEY",
        ),
        """
        Commands call the server at `DCF_SERVER_URL` with `DCF_API_KEY` too, where no `REDIS_URL` and no context is set
        ([command line](../guides/command-line.md)).
        """,
    ),
    Group(
        "Runs",
        (
            "DCF_FINALIZE_AFTER_S",
            "DCF_RETENTION_S",
        ),
        """
        An ended run finalizes itself then; agents that were made for it stay until `finalize_workflow`. Retention
        begins at that moment. The run's own `expiry_secs` wins.
        """,
    ),
    Group(
        "Limits of requests",
        (
            "DCF_MAX_BODY_BYTES",
            "DCF_MAX_REQUEST_VALUES",
            "DCF_MAX_BODIES_BYTES",
            "DCF_MAX_CALLER_BODIES_BYTES",
            "DCF_HEADER_TIMEOUT_S",
            "DCF_BODY_TIMEOUT_S",
            "DCF_MAX_CONNECTIONS",
            "DCF_MAX_CONNECTIONS_PER_PEER",
            "DCF_MAX_CONCURRENCY",
            "DCF_MAX_DOCUMENT_BYTES",
            "DCF_MAX_OUTPUT_BYTES",
            "DCF_MAX_RESULT_BYTES",
        ),
        """
        What happens beyond each: [limits](limits.md).
        """,
    ),
    Group(
        "Quotas of API keys",
        (
            "DCF_RATE_PER_S",
            "DCF_RATE_BURST",
            "DCF_QUOTA_EVENTS_PER_S",
            "DCF_QUOTA_EVENTS_BURST",
            "DCF_QUOTA_STORED_BYTES",
            "DCF_QUOTA_DOCUMENTS",
            "DCF_QUOTA_LIVE_RUNS",
            "DCF_QUOTA_INBOX_ENTRIES",
            "DCF_QUOTA_ARTIFACT_BYTES",
        ),
        """
        They count over all servers. A key may have quotas of its own: `dcf keys add --quota`
        ([scopes](scopes.md)).
        """,
    ),
    Group(
        "Artifacts",
        (
            "DCF_ARTIFACT_STORE",
            "DCF_ARTIFACT_INLINE_BYTES",
            "DCF_ARTIFACT_MAX_BYTES",
            "DCF_ARTIFACT_RUN_BYTES",
        ),
        """
        With an embedded Redis the store is a directory in `DCF_DATA_DIR`. `s3://` needs the extra `s3`
        ([artifacts](../guides/artifacts.md)).
        """,
    ),
    Group(
        "Expressions",
        (
            "DCF_EXPRESSION_CHILDREN",
            "DCF_EXPRESSION_MEMORY",
        ),
        """
        The memory is address space: [memory of expressions](../operating/deploy.md#memory-of-expressions).
        """,
    ),
    Group(
        "Web page",
        (
            "DCF_WEB_SESSION_S",
            "DCF_WEB_IDLE_S",
        ),
    ),
    Group(
        "Agents",
        (
            "DCF_AGENT_PLATFORM",
            "DCF_AGENTS_DIR",
            "DCF_WEBHOOK_ENDPOINTS",
            "DCF_A2A_WORKFLOWS",
            "LETTA_BASE_URL",
            "LETTA_API_KEY",
            "LETTA_MODEL",
            "LETTA_EMBEDDING",
            "LETTA_RUN_DEADLINE_S",
        ),
        """
        Webhooks below no listed URL must be https at public addresses ([webhooks](../agents/webhooks.md)).

        `LETTA_RUN_DEADLINE_S` must be later than the 300 s of a worker's lease. Otherwise an agent that does not
        renew gets a second message.
        """,
    ),
    Group(
        "Files, items and JSON documents",
        (
            "DCF_FILES_READ",
            "DCF_FILES_WRITE",
            "DCF_FILES_MAX_BYTES",
            "DCF_ITEMS_DIRS",
            "DCF_ITEMS_MAX_BYTES",
            "DCF_JSON_PREFIXES",
            "DCF_JSON_MAX_BYTES",
            "DCF_JSON_LIFE_S",
        ),
        """
        An ItemReader reads `<directory>/<Bucket>/<Key>`, or `<directory>/<Key>` where there is no such bucket.
        Links are not followed.

        The JSON tools never touch dcf's indexes. Where Redis has users, dcf's user needs the keys of
        `DCF_JSON_PREFIXES` too. `expires_in_s` of a call wins over `DCF_JSON_LIFE_S`.
        """,
    ),
    Group(
        "Skills and stub tools",
        (
            "DCF_SKILLS_SRC_DIR",
            "DCF_SKILLS_CATALOG",
            "SKILL_REGISTRY_PATH",
            "DCF_SKILL_EGRESS",
            "DCF_SKILL_SECRETS",
            "DCF_SKILL_RISK",
            "DCF_SKILL_ENDPOINTS",
            "ALLOW_MCP_SKILLS",
            "ALLOW_PYTHON_SOURCE_SKILLS",
            "SKILL_MAX_TEXT_CHARS",
            "DCF_SKILL_MAX_PIECES",
            "SKILL_PREVIEW_CHARS",
            "SKILL_STATE_BLOCK_LABEL",
            "STUB_CONFIG",
        ),
        """
        `${NAME}` in the registry comes from the environment. dcf never shows the part of a URL behind the host.
        More: [skills](../agents/skills.md).
        """,
    ),
    Group(
        "Validation",
        (
            "DCF_WORKFLOWS_DIR",
            "DCF_MANIFESTS_DIR",
            "DCF_SCHEMAS_DIR",
            "DCF_WORKFLOW_SCHEMA",
            "DCF_SKILL_SCHEMA",
        ),
        """
        `validate_workflow` looks imports up in these directories.
        """,
    ),
)

OTHERS: Final = {
    "`DCF_CONTEXT`": "The context that a command uses: [command line](../guides/command-line.md).",
    "`DCF_CONTEXTS`": "The file of contexts in place of `~/.config/dcf/contexts.toml`.",
    "`STUB_MCP_HOST`, `STUB_MCP_PORT`": "Where `dcf workflows stub` listens, as its options say.",
    "`OTEL_EXPORTER_OTLP_ENDPOINT`": "Has traces and metrics sent: [telemetry](../operating/tracing.md).",
    "`XDG_CONFIG_HOME`": "The directory in place of `~/.config`.",
    "`XDG_DATA_HOME`": "The directory in place of `~/.local/share`.",
}
"""Variables that are no settings of a process of dcf, and what they do."""
