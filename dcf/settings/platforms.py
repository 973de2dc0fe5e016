"""The settings of agent platforms: where agents are made, and how Letta is reached."""

from pydantic import BaseModel, Field, SecretStr


class PlatformSettings(BaseModel):
    """The fields of `Settings` about agent platforms."""

    agent_platform: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9]{0,31}$")
    """platform on which agents are made that name none; unset: letta with LETTA_BASE_URL, else mailbox"""

    letta_base_url: str | None = Field(default=None, validation_alias="LETTA_BASE_URL", pattern=r"^https?://")
    """Letta server whose agents do the work; unset: agents are inboxes in Redis"""

    letta_api_key: SecretStr | None = Field(default=None, validation_alias="LETTA_API_KEY")
    """key of the Letta server, if it asks for one"""

    letta_model: str | None = Field(default=None, validation_alias="LETTA_MODEL")
    """model in place of the one that a template names"""

    letta_embedding: str | None = Field(default=None, validation_alias="LETTA_EMBEDDING")
    """embedding in place of the template's"""

    letta_run_deadline_s: float = Field(default=420.0, ge=1, validation_alias="LETTA_RUN_DEADLINE_S")
    """seconds after which a run of an agent counts as lost; longer than a lease and what goes before it"""

    a2a_workflows: tuple[str, ...] = ()
    """kept workflows that A2A clients may start, comma-separated: name, or name@version; empty: no A2A"""

    webhook_endpoints: tuple[str, ...] = ()
    """URLs below which webhooks may be http or in a private network, comma-separated; others are public"""
