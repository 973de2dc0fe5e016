"""Finds a profile by its name. Its module is imported when somebody is served it."""

from dcf.errors import InvalidArgument
from dcf.profiles.profile import Profile
from dcf.values.profile_names import SystemProfile


def profile_of(name: SystemProfile) -> Profile:
    """Return the profile of this name."""
    raise InvalidArgument(f"This version does not serve the profile '{name}'.")
