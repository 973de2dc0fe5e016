"""Finds a profile by its name. Its module is imported when somebody is served it."""

from importlib import import_module
from typing import Final

from dcf.profiles.profile import Profile
from dcf.values.profile_names import SystemProfile

_MODULES: Final[dict[SystemProfile, str]] = {
    "deepwork": "dcf.profiles.deepwork.profile",
    "openfactory": "dcf.profiles.openfactory.profile",
    "midex": "dcf.profiles.midex.profile",
    "mission-control": "dcf.profiles.mission_control.profile",
}


def profile_of(name: SystemProfile) -> Profile:
    """Return the profile of this name."""
    module = import_module(_MODULES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules above
    profile: Profile = module.PROFILE
    return profile
