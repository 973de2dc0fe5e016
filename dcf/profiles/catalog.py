"""Finds a profile by its name. Its module is imported when somebody is served it."""

from typing import Final

from dcf.errors import InvalidArgument
from dcf.profiles.profile import Profile
from dcf.values.profile_names import SystemProfile

SERVED: Final[tuple[SystemProfile, ...]] = ("deepwork", "midex", "mission-control")
"""The profiles that this version serves."""


def profile_of(name: SystemProfile) -> Profile:
    """Return the profile of this name."""
    match name:
        case "midex":
            from dcf.profiles.midex import PROFILE as MIDEX  # noqa: PLC0415 - who is not served it does not load it

            return MIDEX
        case "mission-control":
            from dcf.profiles.mission_control import PROFILE  # noqa: PLC0415 - who is not served it does not load it

            return PROFILE
        case "deepwork":
            from dcf.profiles.deepwork import PROFILE  # noqa: PLC0415 - the same

            return PROFILE
        case _:
            raise InvalidArgument(f"This version does not serve the profile '{name}'.")
