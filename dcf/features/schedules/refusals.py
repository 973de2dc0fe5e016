"""The kinds of refusals about schedules."""

from typing import Final

from dcf.values.refusal import Refusal

SCHEDULE_EXISTS: Final = Refusal.kind(
    "schedule_exists",
    "There is a schedule '{name}' with other arguments.",
    "Choose another name, or delete that schedule first; `list_schedules` shows it.",
)
SCHEDULE_WITHOUT_KEY: Final = Refusal.kind(
    "key_invalid",
    "The API key that created schedule '{name}' was revoked, or has expired.",
    "`operate_schedule(action=resume)` makes its runs those of who resumes it. Or delete it.",
)
SCHEDULE_WAITS: Final = Refusal.kind(
    "rate_limited",
    "The API key that created the schedule has used up its {over}.",
    "It is started when the rate allows it; `dcf keys show` tells the quotas of a key.",
)
TOO_MANY_SCHEDULES: Final = Refusal.kind(
    "quota_exceeded",
    "There are {used} of {limit} schedules {whose}.",
    "Delete schedules that are not needed any more (`list_schedules`, `delete_schedule`).",
)
