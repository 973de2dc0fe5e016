"""Reads the URL of a Redis: its scheme, the sentinels and nodes that it names, the options and files of its query.

It opens no connection. No error repeats a part of the URL, since it may be the password.
"""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from redis.connection import parse_url

from dcf.errors import InvalidArgument
from dcf.store.connection.password_file import PasswordFile
from dcf.values.records import record

_SENTINEL_PORT: Final = 26379
_SENTINEL_SCHEMES: Final = {"redis+sentinel": False, "rediss+sentinel": True}
_SCHEMES: Final = {"redis", "rediss", "unix", *_SENTINEL_SCHEMES}
_FILE: Final = "password_file"
"""Parameter of a URL; `DCF_REDIS_PASSWORD_FILE` becomes this one."""

_CERTIFICATES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


@record(frozen=True, slots=True, kw_only=True)
class SentinelTarget:
    """The sentinels of a URL, the name of their primary, and options of connections to that one."""

    hosts: list[tuple[str, int]]
    master: str
    options: dict[str, Any]


@contextmanager
def url_errors() -> Iterator[None]:
    """Raise InvalidArgument in place of the errors of parsers that cannot read a URL."""
    try:
        yield
    except (TypeError, ValueError):
        raise InvalidArgument("REDIS_URL is not a valid Redis URL.", "Write it as redis://HOST:PORT/DB.") from None


def names_sentinels(url: str) -> bool:
    """Return whether a URL names sentinels, and not the server itself. Raise InvalidArgument for any other scheme."""
    with url_errors():
        scheme = split_hosts(url)[0].scheme
    if scheme not in _SCHEMES:
        raise InvalidArgument(
            "REDIS_URL has a scheme that dcf does not know.",
            "Use redis://, rediss://, unix://, redis+sentinel://HOST,HOST/NAME/DB or redis+cluster://HOST,HOST.",
        )
    return scheme in _SENTINEL_SCHEMES


def sentinel_target(url: str) -> SentinelTarget:
    """Read redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME/DB. Raise InvalidArgument."""
    parts, named = split_hosts(url)
    master, _, database = parts.path.strip("/").partition("/")
    try:
        hosts = [host_port(host) for host in named]
        db = int(database or 0)
    except ValueError:
        hosts, db = [], 0
    if not hosts or not master:
        raise InvalidArgument(
            "REDIS_URL names no sentinel or no master.", "Write redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB."
        )
    options = {"db": db, "username": unquoted(parts.username), "password": unquoted(parts.password)}
    options |= options_in(parts.query) | {"ssl": _SENTINEL_SCHEMES[parts.scheme]}
    use_files(options)
    return SentinelTarget(hosts=hosts, master=master, options=options)


def split_hosts(url: str) -> tuple[SplitResult, list[str]]:
    """Split a URL into its parts, and the hosts that it names, with their ports. Raise ValueError.

    urlsplit reads one host: Python 3.14 refuses a list that contains an IPv6 address. So it gets the URL without hosts.
    """
    head, mark, rest = url.partition("://")
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    login, at_sign, hosts = rest[:end].rpartition("@")
    if any(host.startswith("[") != ("]" in host) for host in hosts.split(",")):
        raise ValueError("an IPv6 address must be in brackets")
    return urlsplit(f"{head}{mark}{login}{at_sign}{rest[end:]}"), [host for host in hosts.split(",") if host]


def options_in(query: str) -> dict[str, Any]:
    """Return the options in the query of a URL, as redis-py reads them. Raise InvalidArgument for a wrong value."""
    with url_errors():
        options: dict[str, Any] = parse_url(f"redis://?{query}")  # type: ignore[no-untyped-call]  # redis-py leaves it so
    return options


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


def unquoted(text: str | None) -> str | None:
    """Return the plain text of a part of a URL."""
    return None if text is None else unquote(text)


def host_port(text: str, usual: int = _SENTINEL_PORT) -> tuple[str, int]:
    """Return host and port of a text, with the usual port if the text has no port. Raise ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):  # the colons of an IPv6 address
        host, port = text, str(usual)
    return host.removeprefix("[").removesuffix("]"), int(port)
