"""The settings of the Redis that dcf connects to. A part of `dcf.settings.process`."""

from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, Field, SecretStr


class RedisSettings(BaseModel):
    """The fields of `Settings` about how Redis is reached."""

    redis_url: SecretStr | None = Field(default=None, validation_alias="REDIS_URL")
    """Redis to use; unset: the embedded server"""

    redis_password_file: Path | None = None
    """file with the password for REDIS_URL, read for every new connection; unset: the one in the URL"""

    documents: Literal["auto", "json", "text"] = "auto"
    """how a Redis that is empty is to keep documents: json needs RedisJSON, which auto uses where it is"""

    @property
    def redis_address(self) -> str | None:
        """REDIS_URL, with the password file as one of its parameters; None for the embedded server. It is a secret."""
        if self.redis_url is None:
            return None
        url = self.redis_url.get_secret_value()
        if self.redis_password_file is None:
            return url
        return f"{url}{'&' if '?' in url else '?'}password_file={quote(str(self.redis_password_file), safe='')}"
