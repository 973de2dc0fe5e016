"""All settings of a process, read once from environment variables at an entry point."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from dcf.core.access.quotas import DEFAULTS, Quotas
from dcf.errors import InvalidArgument
from dcf.settings.artifacts import ArtifactSettings
from dcf.settings.expected import expected
from dcf.settings.expressions import ExpressionSettings
from dcf.settings.meanings import meanings_of
from dcf.settings.platforms import PlatformSettings
from dcf.settings.redis import RedisSettings
from dcf.settings.web import WebSettings
from dcf.values.profile_names import SystemProfile

_LOCAL_HOSTS = ("localhost", "localhost:*", "127.0.0.1", "127.0.0.1:*", "dcf-mcp", "dcf-mcp:*")
_LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://dcf-mcp:*")

Names: TypeAlias = tuple[str, ...]
"""A comma-separated list."""

Directories: TypeAlias = tuple[Path, ...]
"""A comma-separated list of directories."""


def _default_data_dir() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "dcf"


class Settings(RedisSettings, PlatformSettings, ArtifactSettings, ExpressionSettings, WebSettings):
    """The settings of this process. Each field is set by an environment variable, `DCF_<FIELD>` or its alias.

    What is given wins over the environment. pydantic-settings is not used: it takes as long to import as pydantic.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="ignore", validate_default=True)

    data_dir: Path = Field(default_factory=_default_data_dir)
    """where the embedded server keeps its data"""

    appendfsync: Literal["everysec", "always"] = "everysec"
    """how often the embedded server syncs its log to disk; only always survives a kill or a power loss"""

    maxmemory: int | None = Field(default=None, ge=0)
    """bytes that the embedded server may use, 0 for no limit; unset: half of what there is"""

    mcp_host: str = "127.0.0.1"
    """address that the HTTP transport binds"""

    mcp_port: int = Field(default=8337, ge=0, le=65535)
    """port of the HTTP transport; 0 takes a free one"""

    mcp_enable_dns_rebinding_protection: bool = True
    """check Host and Origin headers"""

    mcp_allowed_hosts: Names = _LOCAL_HOSTS
    """Host headers accepted, comma-separated"""

    mcp_allowed_origins: Names = _LOCAL_ORIGINS
    """Origin headers accepted, comma-separated"""

    wait_replicas: int = Field(default=0, ge=0, le=10)
    """replicas that must have a write before it is answered (Redis WAIT)"""

    toolsets: Names = ()
    """toolsets served, comma-separated; empty: all"""

    read_only: bool = False
    """serve only tools that change nothing"""

    allow_operator: bool = False
    """give the local user the scopes operate, answer, override and attest"""

    profile: Literal["auto", "worker", "planner", "assistant", "member", "operator", "person", "all", SystemProfile] = (
        "auto"
    )
    """tools that are listed, by role (auto: that of the key), or the system whose tools are served"""

    output_schemas: bool = False
    """list tools with the JSON Schemas of their answers"""

    profile_lease_s: int = Field(default=4 * 3600, ge=60, le=86_400)
    """seconds of a lease of clients that keep no lease tokens"""

    profile_directory: Path | None = None
    """project whose .claude/workflows are read"""

    auth: Literal["keys", "off"] = "keys"
    """what the HTTP transport asks for: an API key, or (on loopback only) nothing"""

    task_tokens: Literal["keys", "alone"] = "keys"
    """alone: /task-tokens asks for no API key"""

    api_key: SecretStr | None = None
    """the API key that workers and planners call with"""

    helper_key: SecretStr | None = None
    """the API key with which dcf agents local reports commands of gates; it has the scope attest"""

    public_url: str | None = Field(default=None, pattern=r"^https?://")
    """URL of /mcp as clients see it, for the metadata of a 401"""

    max_body_bytes: int = Field(default=4 * 1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    """bytes of one HTTP request"""

    max_request_values: int = Field(default=200_000, ge=1000, le=100_000_000)
    """JSON values of one HTTP request: numbers, texts, lists, objects"""

    max_bodies_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, le=16 * 1024**3)
    """bytes of long HTTP requests, beyond 64 KiB of each, that one server holds at the same time"""

    max_caller_bodies_bytes: int = Field(default=8 * 1024 * 1024, ge=1024, le=16 * 1024**3)
    """how many of these one API key may send"""

    header_timeout_s: float = Field(default=10, gt=0, le=3600)
    """seconds that the headers of an HTTP request may take to arrive"""

    body_timeout_s: float = Field(default=30, gt=0, le=3600)
    """seconds that the body of an HTTP request may take to arrive, and a client to take its answer"""

    max_connections: int = Field(default=1000, ge=1, le=100_000)
    """connections of one server; fewer where it may open fewer files"""

    max_connections_per_peer: int = Field(default=500, ge=1, le=100_000)
    """how many of these may come from one address"""

    max_document_bytes: int = Field(default=1024 * 1024, ge=1024, le=1024 * 1024)
    """bytes of one workflow"""

    max_output_bytes: int = Field(default=256 * 1024, ge=1024, le=256 * 1024)
    """bytes of one input or output of a state"""

    max_result_bytes: int = Field(default=1024 * 1024, ge=16 * 1024, le=16 * 1024 * 1024)
    """bytes of one answer; longer lists get a cursor"""

    rate_per_s: float = Field(default=DEFAULTS.calls_per_s, ge=0.001, le=100_000)
    """requests a second of one API key, over all servers"""

    rate_burst: int = Field(default=DEFAULTS.calls_burst, ge=1, le=100_000)
    """requests that one API key may make at once after a pause"""

    quota_events_per_s: float = Field(default=DEFAULTS.events_per_s, ge=0.001, le=1_000_000)
    """events of runs a second of one API key"""

    quota_events_burst: int = Field(default=DEFAULTS.events_burst, ge=1, le=10_000_000)
    """events of runs that one API key may cause at once after a pause"""

    quota_stored_bytes: int = Field(default=DEFAULTS.stored_bytes, ge=0, le=2**50)
    """bytes of documents, workflows, inputs and outputs that one API key may hold"""

    quota_documents: int = Field(default=DEFAULTS.documents, ge=0, le=100_000)
    """documents of the JSON tools that one API key may hold"""

    quota_live_runs: int = Field(default=DEFAULTS.live_runs, ge=0, le=100_000)
    """runs of one API key that are not over"""

    quota_inbox_entries: int = Field(default=DEFAULTS.inbox_entries, ge=0, le=100_000)
    """entries in inboxes by the notifications of one API key"""

    max_concurrency: int = Field(default=64, ge=1, le=10_000)
    """calls of one API key that one server answers at the same time"""

    finalize_after_s: int = Field(default=604_800, ge=0, le=315_360_000)
    """seconds until an ended run finalizes itself; 0: never"""

    retention_s: int = Field(default=0, ge=0, le=315_360_000)
    """seconds that a finalized run is kept; 0: without a limit"""

    pulse_interval_s: float = Field(default=1.0, gt=0, le=60)
    """seconds between passes of the timer loop"""

    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    """port on which /metrics is served alone; unset: none of its own"""

    log_format: Literal["text", "json"] = "text"
    """how the log looks; json: each line an object with run, state, agent and trace_id"""

    server_url: str = Field(default="http://127.0.0.1:8337/mcp", pattern=r"^https?://")
    """the MCP server that workers and planners call"""

    server_name: str = Field(default="dcf", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
    """what that MCP server is called on a Letta server"""

    workflows_dir: Path = Path("workflows")
    """directory that af_imports must lie below"""

    manifests_dir: Path = Path("generated/manifests")
    """directory that skill_imports must lie below"""

    schemas_dir: Path | None = None
    """directory of JSON Schemas in place of those that ship with dcf, by the same names"""

    workflow_schema: Path | None = None
    """JSON Schema of workflow documents; unset: the one in DCF_SCHEMAS_DIR or the shipped"""

    items_dirs: Directories = ()
    """directories that an ItemReader may read items from, comma-separated; empty: none"""

    items_max_bytes: int = Field(default=16 * 1024 * 1024, ge=1, le=1024**3)
    """bytes that one ItemReader may read"""

    json_prefixes: Names = ("cp:wf:", "dp:wf:", "doc:")
    """beginnings of the keys that the JSON tools may touch, comma-separated"""

    json_max_bytes: int = Field(default=1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    """bytes of one document that the JSON tools write"""

    json_life_s: int = Field(default=30 * 24 * 3600, ge=0, le=10 * 365 * 24 * 3600)
    """seconds that a document of the JSON tools is kept after its last write; 0: without a limit"""

    files_read: Directories = ()
    """directories that the file tools may read, comma-separated; empty: none"""

    files_write: Directories = ()
    """the same to read and write; both empty: none for keys, DCF_DATA_DIR/workflows for the local user"""

    files_max_bytes: int = Field(default=1024 * 1024, ge=16, le=64 * 1024 * 1024)
    """bytes that one call of a file tool reads or writes"""

    agents_dir: Path = Path("agents")
    """directory of agent templates (.af files)"""

    skills_catalog: Path = Path("generated/catalogs/skills_catalog.json")
    """catalogue of skill manifests"""

    skills_src_dir: Path = Path("skills_src")
    """directory of the sources of skills and stub tools"""

    stub_config: Path = Field(default=Path("generated/stub/stub_config.json"), validation_alias="STUB_CONFIG")
    """configuration of the stub MCP server"""

    skill_schema: Path | None = None
    """JSON Schema of skill manifests; unset: the one in DCF_SCHEMAS_DIR or the shipped"""

    skill_registry: Path = Field(default=Path("skills_src/registry.json"), validation_alias="SKILL_REGISTRY_PATH")
    """registry.json, which says where the MCP servers of skills are"""

    skill_state_label: str = Field(default="dcf_active_skills", validation_alias="SKILL_STATE_BLOCK_LABEL")
    """label of the text in an agent's context that lists its skills"""

    skill_max_text_chars: int = Field(default=4900, ge=100, le=100_000, validation_alias="SKILL_MAX_TEXT_CHARS")
    """longest piece of a data source, in characters"""

    skill_preview_chars: int = Field(default=400, ge=1, le=100_000, validation_alias="SKILL_PREVIEW_CHARS")
    """how much of a skill's directives get_skillset shows"""

    allow_mcp_skills: bool = Field(default=True, validation_alias="ALLOW_MCP_SKILLS")
    """let skills use tools of MCP servers"""

    allow_python_source_skills: bool = Field(default=False, validation_alias="ALLOW_PYTHON_SOURCE_SKILLS")
    """let skills bring tools as Python source, which the platform then executes"""

    skill_egress: Literal["none", "intranet", "internet"] = "intranet"
    """how far the tools of a skill may reach"""

    skill_secrets: Names = ()
    """names of secrets that skills may ask for, comma-separated"""

    skill_risk: Literal["low", "medium", "high", "critical"] = "high"
    """highest risk level of a skill that may be loaded"""

    skill_endpoints: Names = ()
    """URLs of MCP servers that manifests may name themselves, comma-separated"""

    skill_max_pieces: int = Field(default=32, ge=0, le=1000)
    """how many pieces of data one skill may put into an agent's context"""

    def __init__(self, **chosen: Any) -> None:
        values: dict[str, Any] = {**_from_environment(chosen), **chosen}
        super().__init__(**values)

    @field_validator(
        "mcp_allowed_hosts",
        "mcp_allowed_origins",
        "toolsets",
        "items_dirs",
        "json_prefixes",
        "files_read",
        "files_write",
        "skill_secrets",
        "skill_endpoints",
        "a2a_workflows",
        "webhook_endpoints",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("mcp_allowed_hosts", "mcp_allowed_origins")
    @classmethod
    def _local(cls, value: Names, info: ValidationInfo) -> Names:
        return value or (_LOCAL_HOSTS if info.field_name == "mcp_allowed_hosts" else _LOCAL_ORIGINS)

    @property
    def quotas(self) -> Quotas:
        """The quotas of an API key that has none of its own."""
        return Quotas(
            calls_per_s=self.rate_per_s,
            calls_burst=self.rate_burst,
            events_per_s=self.quota_events_per_s,
            events_burst=self.quota_events_burst,
            stored_bytes=self.quota_stored_bytes,
            documents=self.quota_documents,
            live_runs=self.quota_live_runs,
            inbox_entries=self.quota_inbox_entries,
            artifact_bytes=self.quota_artifact_bytes,
        )

    @property
    def names_hosts(self) -> bool:
        """True if the operator has set the accepted Host headers."""
        return self.mcp_allowed_hosts != _LOCAL_HOSTS


def _from_environment(chosen: Mapping[str, object]) -> dict[str, str]:
    """Return the variables that are set, but for those of fields that are given."""
    variables = {}
    for variable, name in _NAMES.items():
        key = variable if Settings.model_fields[name].validation_alias else name
        text = os.environ.get(variable)
        if text and name not in chosen and key not in chosen:
            variables[key] = text
    return variables


def read_settings() -> Settings:
    """Read the environment; raise InvalidArgument for the first wrong variable. A blank variable counts as unset."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0])
        variable = name if name.isupper() else f"DCF_{name.upper()}"
        raise InvalidArgument(f"{variable} must be {expected(first)}.", f"It sets: {meaning_of(variable)}.") from None


def meaning_of(variable: str) -> str:
    """Return what a variable sets."""
    return meanings_of(Settings)[_NAMES[variable]]


VARIABLES: Final = {
    str(field.validation_alias or f"DCF_{name.upper()}"): field for name, field in Settings.model_fields.items()
}
"""Fields by the environment variable that sets them."""

_NAMES: Final = dict(zip(VARIABLES, Settings.model_fields, strict=True))
"""Their names."""
