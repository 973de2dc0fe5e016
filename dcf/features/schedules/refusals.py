"""The refusals about schedules.

schedule_exists      another schedule has this name
key_invalid          the key that created a schedule is not valid any more
rate_limited         the key that created a schedule used up a rate
quota_exceeded       there are as many schedules as there may be
"""

from dcf.core.access.quotas import Account
from dcf.values.refusal import Refusal


def schedule_exists(name: str) -> Refusal:
    """Refuse because another schedule has this name."""
    return Refusal(
        code="schedule_exists",
        message=f"There is a schedule '{name}' with other arguments.",
        hint="Choose another name, or delete that schedule first; `list_schedules` shows it.",
    )


def schedule_without_key(name: str) -> Refusal:
    """Stop a schedule because the API key that created it is no longer valid."""
    return Refusal(
        code="key_invalid",
        message=f"The API key that created schedule '{name}' was revoked, or has expired.",
        hint="`operate_schedule(action=resume)` makes its runs those of who resumes it. Or delete it.",
    )


def schedule_waits(account: Account) -> Refusal:
    """Put a start off because the key of its schedule used up a rate."""
    return Refusal(
        code="rate_limited",
        message=f"The API key that created the schedule has used up its {account.over}.",
        hint="It is started when the rate allows it; `dcf keys show` tells the quotas of a key.",
        retry_after_s=account.wait_s,
    )


def too_many_schedules(used: int, limit: int, whose: str) -> Refusal:
    """Refuse because there are as many schedules as there may be."""
    return Refusal(
        code="quota_exceeded",
        message=f"There are {used} of {limit} schedules {whose}.",
        hint="Delete schedules that are not needed any more (`list_schedules`, `delete_schedule`).",
    )
