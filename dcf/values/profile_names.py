"""The names of the profiles that serve the tools of another system in place of dcf's own. Pure."""

from typing import Final, Literal, get_args

SystemProfile = Literal["deepwork", "openfactory", "midex", "mission-control"]

SYSTEM_PROFILES: Final[tuple[SystemProfile, ...]] = get_args(SystemProfile)
