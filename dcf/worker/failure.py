"""How a task function or an agent says that it failed, or met a limit. Imports only the errors: any process can."""

from typing import TYPE_CHECKING, Final

from dcf.errors import DcfError, InvalidArgument

if TYPE_CHECKING:
    from datetime import datetime

ACCOUNT_LIMIT: Final = "DCF.AccountLimit"
"""The error of a state that no longer waits for a usage limit, for Retry and Catch."""

ACCOUNT_UNUSABLE: Final = "DCF.AccountUnusable"
"""The error of a state whose turn cannot be reserved: the key of the host may not, or the account has no such name."""

KINDS: Final = ("limit", "busy", "spent", "guess", "day", "wait", "models")
"""A limit that ends, an overloaded provider, credit that a person must pay for; the others are what hosts find out."""


class TaskFailed(DcfError):
    """Raise it in a task function to fail the state, with an ASL error name and a cause in words."""

    code = "task_failed"
    default_hint = "The state's Catch, if any, decides what follows; otherwise the run fails with this error."

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(cause)
        self.error = error
        self.cause = cause

    def __str__(self) -> str:
        """Return the cause: what follows is for the workflow to say, not for the function."""
        return self.cause


class AccountLimited(DcfError):
    """Raise it in a task function or an agent where the provider of a model rejects calls until a time.

    The state is parked until then: its lease ends, its attempt is not counted, and it is tried again. `until` has a
    time zone, or is seconds since 1970; `after_s` is for a provider that tells a length of time. Without either dcf
    tries again after 1, 2, 4, 8 and 16 minutes. `family` is what the names of the models have in common that the limit
    is of (opus); None: it is of all models.
    """

    account: str | None = None
    reported_by: str | None = None
    code = "account_limited"
    default_hint = "Nothing is to be done: the state is tried again at that time."

    def __init__(
        self,
        until: "datetime | float | None" = None,
        *,
        after_s: float | None = None,
        kind: str = "limit",
        cause: str = "A usage limit of the provider is reached.",
        family: str | None = None,
    ) -> None:
        if kind not in KINDS:
            raise InvalidArgument(f"{kind!r} is no kind of a limit.", f"Use one of {', '.join(KINDS)}.")
        super().__init__(cause)
        self.until = until if until is None or isinstance(until, int | float) else _seconds_of(until)
        self.after_s = after_s
        self.kind = kind
        self.cause = cause
        self.family = family

    @property
    def has_time(self) -> bool:
        """True if the provider told when the limit ends."""
        return self.until is not None or self.after_s is not None


def _seconds_of(until: "datetime") -> float:
    if until.tzinfo is None:
        raise InvalidArgument(
            "until has no time zone.", "Use datetime.now(UTC) + timedelta(seconds=37), or after_s=37."
        )
    return until.timestamp()
