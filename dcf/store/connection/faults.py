"""Translates Redis errors into dcf's: transient ones, which may be retried, and permanent ones.

Transient ones (also those that an operator can end) become `StoreUnavailable`: the same call may be repeated. Permanent
ones become `StoreUnsuitable`. No text of Redis or redis-py leaves this module, since it may contain a command's
arguments. It must not send commands.
"""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Final

import redis
from redis.exceptions import AuthenticationError, AuthenticationWrongNumberOfArgsError, MaxConnectionsError
from redis.sentinel import MasterNotFoundError

from dcf.errors import StoreUnavailable, StoreUnsuitable

_LATER: Final = "Wait a few seconds"

_PASSING: Final[Mapping[str, tuple[str, str]]] = {
    "OOM": (
        "Redis refuses writes: its memory is full (OOM).",
        "Delete runs that are over (dcf runs prune --older-than 7d), cancel some (dcf cancel RUN), or raise maxmemory",
    ),
    "MISCONF": (
        "Redis refuses writes: its disk is full or it cannot save (MISCONF).",
        "Look at its log and free disk space",
    ),
    "NOREPLICAS": (
        "Redis refuses writes: too few of its replicas are connected (NOREPLICAS).",
        "Bring the replicas back",
    ),
    "READONLY": ("Redis refuses writes: this server is a replica (READONLY).", _LATER),
    "UNBLOCKED": ("Redis ended a wait: this server became a replica (UNBLOCKED).", _LATER),
    "MASTERDOWN": ("This Redis is a replica that lost its primary (MASTERDOWN).", _LATER),
    "CLUSTERDOWN": ("The Redis cluster does not serve this key now (CLUSTERDOWN).", _LATER),
    "TRYAGAIN": ("The Redis cluster is moving this key (TRYAGAIN).", _LATER),
    "ASK": ("The Redis cluster is moving this key (ASK).", _LATER),
    "MOVED": (
        "The Redis cluster has moved this key (MOVED).",
        f"{_LATER}, and see to it that REDIS_URL begins with redis+cluster://",
    ),
    "LOADING": ("Redis is still loading its data (LOADING).", _LATER),
    "BUSY": ("Redis is busy with somebody's script (BUSY).", "Wait until it ends or end it"),
}
"""The problem, and the action before the call is repeated, by the code of the error reply."""

_SOON: Final = frozenset({"READONLY", "UNBLOCKED", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "ASK", "MOVED"})
"""Codes during a failover, or while a slot moves: a retry over a new connection may reach another server."""

_LASTING: Final[Mapping[str, tuple[str, str]]] = {
    "NOPERM": (
        "Redis does not allow this user a command, key or channel that dcf needs (NOPERM).",
        "Give the user of REDIS_URL the keys, channels and commands that deploy/redis/users.acl gives to dcf.",
    ),
    "CROSSSLOT": (
        "This Redis is a node of a cluster, and REDIS_URL does not say so.",
        "Let REDIS_URL begin with redis+cluster://, or with rediss+cluster:// for TLS.",
    ),
    "NOCLUSTER": (
        "This Redis is not a cluster, and REDIS_URL begins with redis+cluster://.",
        "Let REDIS_URL begin with redis://, or with rediss:// for TLS, and name one server.",
    ),
}
"""The problem and the action, by the code of a permanent error reply. NOCLUSTER is dcf's own."""

_ABORTED: Final = "because of: "
_WITHOUT_CODE: Final[Mapping[str, str]] = {
    "This instance has cluster support disabled": "NOCLUSTER",
    "WAIT cannot be used with replica instances": "READONLY",
    "Script attempted to access a non local key": "TRYAGAIN",
    "Unable to execute command": "TRYAGAIN",  # a script reads several keys, of which some have moved already
    "Script attempted to execute a write command while the cluster is down": "CLUSTERDOWN",
    "Script attempted to execute a command while the cluster is down": "CLUSTERDOWN",
}
"""Codes for replies that have none: of a server alone, and to a script that met a key which is not there now."""

_UNKNOWN: Final = re.compile(r"unknown (?:sub)?command '?([a-z.|]{1,40})", re.IGNORECASE)


_REJECTED: Final[Mapping[str, str]] = {"OOM": "memory", "MISCONF": "disk", "NOREPLICAS": "replicas"}
"""Why Redis rejects writes, as a metric shows it, by the code of the error reply."""


class PassingError(redis.ConnectionError):
    """An error reply after which to retry over a new connection, as if this one had broken."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NoPassword(AuthenticationError):
    """The file with the password of Redis has no usable password; raised at login, before any command is sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnusableStore(redis.ResponseError):
    """dcf must not use this Redis, whatever it answers; raised by what each connection begins with."""

    def __init__(self, refusal: StoreUnsuitable) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def reply_error(error: redis.ResponseError) -> PassingError | StoreUnavailable | StoreUnsuitable:
    """Return dcf's error for an error reply."""
    code = _code(error)
    if code in _SOON:
        return PassingError(code)
    if code in _PASSING:
        return _passing(code)
    if code in _LASTING:
        return StoreUnsuitable(*_LASTING[code])
    if isinstance(error, AuthenticationWrongNumberOfArgsError):
        return _refused_login()
    if (unknown := _UNKNOWN.match(str(error))) is not None:
        return _lacking(unknown[1].upper())

    return StoreUnsuitable(
        "Redis refused a command of dcf; one of its keys may have been changed by hand.",
        "Look at the keys of the call with TYPE, and repair or delete the foreign one.",
    )


def not_allowed(name: str) -> StoreUnsuitable:
    """Return the error for a command that the user may not send."""
    return StoreUnsuitable(
        f"Redis does not allow this user {name}, which dcf needs (NOPERM).",
        "Give the user of REDIS_URL the keys, channels and commands that deploy/redis/users.acl gives to dcf.",
    )


def no_json() -> StoreUnsuitable:
    """Return the error for a document whose text cannot be parsed."""
    return StoreUnsuitable(
        "A document of dcf is no JSON; it may have been changed by hand.",
        "Look at the keys of the call with GET, and repair or delete the damaged one.",
    )


def handshake_error(error: redis.ResponseError) -> PassingError | StoreUnavailable | StoreUnsuitable:
    """Return dcf's error for a new connection that refused this Redis, or that Redis refused."""
    return error.refusal if isinstance(error, UnusableStore) else reply_error(error)


def node_of_cluster() -> StoreUnsuitable:
    """Return the error for a node of a cluster that is used as if it were alone."""
    return StoreUnsuitable(*_LASTING["CROSSSLOT"])


def refusal(error: redis.ResponseError, place: str | None = None) -> StoreUnavailable | StoreUnsuitable:
    """Return the error that says in words why Redis refused a command, whether or not a retry may help.

    `place` is its address.
    """
    passing_error = reply_error(error)
    return _passing(passing_error.code, place) if isinstance(passing_error, PassingError) else passing_error


def _passing(code: str, place: str | None = None) -> StoreUnavailable:
    message, remedy = _PASSING[code]
    error = StoreUnavailable(message, f"{remedy}, then repeat the call.", place=place, remedy=f"{remedy}.")
    error.is_full = code == "OOM"
    return error


def connection_error(error: Exception, place: str | None) -> StoreUnavailable:
    """Return the error that says why Redis does not answer; `place` is its address."""
    if isinstance(error, NoPassword):
        return StoreUnavailable(
            f"The file with the password of Redis gives none: {error.reason}.",
            "Write the password into the file that DCF_REDIS_PASSWORD_FILE names; it is read for every new connection.",
        )
    if is_refused_login(error):
        return _refused_login()
    if isinstance(error, redis.BusyLoadingError):
        return _passing("LOADING", place)
    if isinstance(error, PassingError):
        return _passing(error.code, place)
    if isinstance(error, redis.TimeoutError | TimeoutError):
        return StoreUnavailable("Redis did not answer in time.", place=place)
    reason = _reason(error)
    return StoreUnavailable(f"Redis cannot be reached{'' if reason is None else f': {reason}'}.", place=place)


def rejection(error: redis.ResponseError) -> str | None:
    """Return why Redis rejects writes, if this reply says so."""
    return _REJECTED.get(_code(error))


def is_refused(error: redis.ResponseError) -> bool:
    """Return True if this Redis does not let this user send the command, or does not have it."""
    return _code(error) == "NOPERM" or is_unknown(error)


def is_of_another_type(error: redis.ResponseError) -> bool:
    """Return True if the key of the command holds something of another type."""
    return _code(error) == "WRONGTYPE"


def is_unknown(error: redis.ResponseError) -> bool:
    """Return True if this Redis does not have the command."""
    return _UNKNOWN.match(str(error)) is not None


def is_refused_login(error: Exception) -> bool:
    """Return True if the credentials are wrong, so that a retry cannot help."""
    return isinstance(error, AuthenticationError)


def _code(error: redis.ResponseError) -> str:
    """Return the code of an error reply; for an aborted transaction, the code of its cause."""
    text = str(error)
    for beginning, meant in _WITHOUT_CODE.items():
        if text.startswith(beginning):
            return meant
    code = error.status_code or text
    if code == "EXECABORT" and _ABORTED in text:
        code = text.partition(_ABORTED)[2]
    return code.partition(" ")[0]


def _refused_login() -> StoreUnavailable:
    return StoreUnavailable(
        "Redis refused the user name or password.",
        "Correct the credentials in REDIS_URL and start again; with DCF_REDIS_PASSWORD_FILE, those in the file.",
    )


def _lacking(command: str) -> StoreUnsuitable:
    if command.startswith("JSON."):
        return StoreUnsuitable("Redis lacks a command that dcf needs (the RedisJSON module is not loaded).")
    return StoreUnsuitable(f"Redis lacks a command that dcf needs: {command}.")


def _reason(error: BaseException) -> str | None:
    reasons: Mapping[type[BaseException] | tuple[type[BaseException], ...], str] = {
        ConnectionRefusedError: "no server listens there",
        FileNotFoundError: "there is no such socket",
        PermissionError: "this user may not open the socket",
        socket.gaierror: "no address is known for this name",
        ssl.SSLError: "it does not speak TLS, or its certificate is not trusted",
        (ConnectionResetError, BrokenPipeError): "it closed the connection",
        MasterNotFoundError: "no sentinel that answers knows this master",
        MaxConnectionsError: "dcf has as many connections open as it may",
    }
    for cause in _chain(error):
        for kinds, words in reasons.items():
            if isinstance(cause, kinds):
                return words
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
