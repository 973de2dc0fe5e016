"""Reads the password of Redis from a file that another program updates while dcf runs.

Managed services give passwords that live for minutes. redis-py asks here for each connection that it opens. Nothing is
kept: neither the password nor when it was read.
"""

from pathlib import Path
from typing import Final

from redis.credentials import CredentialProvider

from dcf.store.connection.faults import NoPassword

_MOST_CHARACTERS: Final = 64 * 1024
"""Of a password file; the longest tokens of services have a few thousand."""


class PasswordFile(CredentialProvider):
    """Gives redis-py what each new connection logs in with: the name of the URL, the password of the file."""

    def __init__(self, path: Path, username: str | None) -> None:
        self._path = path
        self._username = username

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        """Return the login. Raise NoPassword if the file cannot be read or is empty."""
        password = self._read()
        return (self._username, password) if self._username else (password,)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        """Return the same; to read a small file takes no time that others would notice."""
        return self.get_credentials()

    def _read(self) -> str:
        try:
            with self._path.open(encoding="utf-8") as file:
                password = file.read(_MOST_CHARACTERS).strip()
        except FileNotFoundError:
            raise NoPassword("there is no such file") from None
        except (OSError, UnicodeDecodeError):
            raise NoPassword("it cannot be read") from None
        if not password:
            raise NoPassword("it is empty")
        return password
