"""Finds a profile by its name. Its module is imported when somebody is served it."""

from dcf.profiles.profile import Profile
from dcf.values.profile_names import SystemProfile


def profile_of(name: SystemProfile) -> Profile:
    """Return the profile of this name."""
    match name:
        case "deepwork":
            from dcf.profiles.deepwork.profile import PROFILE as DEEPWORK  # noqa: PLC0415 - who is not served it, loads it not

            return DEEPWORK
        case "openfactory":
            from dcf.profiles.openfactory.profile import PROFILE as OPENFACTORY  # noqa: PLC0415 - the same

            return OPENFACTORY
        case "midex":
            from dcf.profiles.midex.profile import PROFILE as MIDEX  # noqa: PLC0415 - the same

            return MIDEX
        case "mission-control":
            from dcf.profiles.mission_control.profile import PROFILE as MISSION_CONTROL  # noqa: PLC0415 - the same

            return MISSION_CONTROL
