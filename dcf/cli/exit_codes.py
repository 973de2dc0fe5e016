"""The meaning of each exit code of `dcf`, the same for every command. Commands take theirs from here."""

from typing import Final

from dcf.errors import DcfError

OK: Final = 0
NO: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
UNAVAILABLE: Final = 4
INTERRUPTED: Final = 130
TERMINATED: Final = 143

MEANINGS: Final[dict[int, str]] = {
    OK: "it is done; a run succeeded, a document is valid, nothing fails",
    NO: "it was refused or is not so: a run did not succeed, a document is not valid, a check fails",
    USAGE: "wrong arguments, settings or files",
    NOT_FOUND: "there is no such run, state, agent, schedule, key, finding, definition, project or artifact",
    UNAVAILABLE: "Redis or the server cannot be used, or rejects all callers",
    INTERRUPTED: "interrupted with Ctrl-C",
    TERMINATED: "ended by SIGTERM",
}

ERRORS: Final = {
    "invalid_argument": USAGE,
    "invalid_definition": USAGE,
    "invalid_flow": USAGE,
    "too_large": USAGE,
    "not_found": NOT_FOUND,
    "unknown_run": NOT_FOUND,
    "unknown_state": NOT_FOUND,
    "unknown_agent": NOT_FOUND,
    "unknown_skill": NOT_FOUND,
    "unknown_key": NOT_FOUND,
    "unknown_definition": NOT_FOUND,
    "unknown_schedule": NOT_FOUND,
    "unknown_finding": NOT_FOUND,
    "not_in_catalogue": NOT_FOUND,
    "unknown_project": NOT_FOUND,
    "unknown_artifact": NOT_FOUND,
    "store_unavailable": UNAVAILABLE,
    "store_unsuitable": UNAVAILABLE,
    "store_too_new": UNAVAILABLE,
    "server_unreachable": UNAVAILABLE,
    "platform_unavailable": UNAVAILABLE,
    "unauthorized": UNAVAILABLE,
    "forbidden": UNAVAILABLE,
}
"""The exit code of each error by its `code`; any other error ends a command with `NO`."""


def of_error(error: DcfError) -> int:
    """Return the exit code for an error; 1 for a refusal that has none of its own."""
    return ERRORS.get(error.code, NO)


def of_run(status: object) -> int:
    """Return the exit code for a run that has ended."""
    return OK if status == "succeeded" else NO
