"""The settings of this process as operators read them: by variable, what is set first, no secret among them. Pure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from dcf.settings.process import VARIABLES, Settings, meaning_of
from dcf.values.records import record
from dcf.values.secret_shapes import redact

_HIDDEN: Final = "set, and not shown"


@record(frozen=True, slots=True, kw_only=True)
class SettingShown:
    """One setting. `is_set`: it is not its default."""

    variable: str
    value: str
    meaning: str
    is_set: bool


def settings_shown(settings: Settings) -> list[SettingShown]:
    """Return every setting, those that are not their default first, each in the order of the documentation."""
    return sorted(_each(settings), key=lambda setting: not setting.is_set)


def _each(settings: Settings) -> Iterator[SettingShown]:
    for (variable, field), name in zip(VARIABLES.items(), type(settings).model_fields, strict=True):
        value = getattr(settings, name)
        default = field.get_default(call_default_factory=True)
        yield SettingShown(variable=variable, value=_text(value), meaning=meaning_of(variable), is_set=value != default)


def _text(value: object) -> str:
    """Return a value in words. Texts of every setting are looked through for secrets, as a URL may have a password."""
    if isinstance(value, SecretStr):
        return _HIDDEN
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return str(redact(", ".join(map(str, value))).value) or "none"
    return str(redact(str(value)).value) if isinstance(value, str | Path) else str(value)
