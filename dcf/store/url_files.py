"""What the query of a Redis URL asks for, and its files: the password that changes, and the certificates of TLS.

Managed services give passwords that live for minutes. So a password may stand in a file that somebody else keeps
fresh; redis-py asks here for each connection that it opens. Nothing is kept: neither the password nor when it was read.
"""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final

from redis.connection import parse_url
from redis.credentials import CredentialProvider

from dcf.errors import InvalidArgument
from dcf.store.faults import NoPassword

_FILE: Final = "password_file"
"""Parameter of a URL; `DCF_REDIS_PASSWORD_FILE` becomes this one."""

_CERTIFICATES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
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


def options_in(query: str) -> dict[str, Any]:
    """Return the options in the query of a URL, as redis-py reads them; raise ValueError for a wrong value."""
    found: dict[str, Any] = parse_url(f"redis://?{query}")  # type: ignore[no-untyped-call]  # redis-py leaves it so
    return found


def use_files(options: MutableMapping[str, Any]) -> None:
    """Have connections with these options log in with the password file that they name, if they do.

    Raise InvalidArgument if there is a second password, or no file with a certificate where the options say.
    """
    for name in _CERTIFICATES:
        path = options.get(name)
        if path is not None and not Path(path).is_file():
            raise InvalidArgument(
                f"REDIS_URL names a file with {name} that is not there, or that this user may not see.",
                "Give the whole path of a file in PEM format.",
            )
    named = options.pop(_FILE, None)
    if named is None:
        return
    if options.pop("password", None):
        raise InvalidArgument(
            "REDIS_URL has a password, and there is a file with another one.",
            "Leave the password out of REDIS_URL, or do not set DCF_REDIS_PASSWORD_FILE.",
        )
    options["credential_provider"] = PasswordFile(Path(named), options.pop("username", None))
