"""Compiles what writes a record: an expression for each member, and no call but those that convert."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, get_args, get_origin

from dcf.values.instants import to_text
from dcf.values.record_json.members import Member, is_fixed, is_kind_of, is_record, plain_type


def writing(members: Sequence[Member]) -> tuple[str, dict[str, Any]]:
    """Return the source of the function `write`, and what its names mean."""
    names: dict[str, Any] = {"to_text": to_text}
    lines = ["def write(r):", "    d = {}"]
    for number, member in enumerate(members):
        condition, writer = member.condition, _Writer(member, names)
        if member.is_spread:
            spread = f"r.{member.attribute}"
            if member.left_out in ("none", "empty"):
                spread = f"{{k: v for k, v in {spread}.items() if v is not None}}"
            lines.append(f"    d.update({spread})")
        elif condition is None:
            lines.append(f"    d[{member.name!r}] = {writer.expression(member.hint, f'r.{member.attribute}')}")
        else:
            names[f"default_{number}"] = member.default
            lines.append(f"    v = r.{member.attribute}")
            lines.append(f"    if {condition.replace('default', f'default_{number}')}:")
            lines.append(f"        d[{member.name!r}] = {writer.expression(member.hint, 'v', is_known=True)}")
    return "\n".join([*lines, "    return d", ""]), names


class _Writer:
    """Makes expressions for the types in the type of a member."""

    def __init__(self, member: Member, names: dict[str, Any]) -> None:
        self._member, self._names = member, names

    def expression(self, hint: Any, value: str, depth: int = 0, *, is_known: bool = False) -> str:
        """Return the expression that writes a value of this type; `is_known`: it is not None."""
        plain, optional = plain_type(hint)
        written = self._plain(plain, value, depth)
        if not optional or is_known or written == value:
            return written
        return f"(None if {value} is None else {written})"

    def _plain(self, hint: Any, value: str, depth: int) -> str:
        origin, inner = get_origin(hint), get_args(hint)
        key, item = f"k{depth}", f"x{depth}"
        if is_kind_of(origin, Mapping):
            written = self.expression(inner[1], item, depth + 1)
            return f"dict({value})" if written == item else f"{{{key}: {written} for {key}, {item} in {value}.items()}}"
        if is_fixed(hint):
            return f"list({value})"
        if is_kind_of(origin, Sequence):
            written = self.expression(inner[0], item, depth + 1)
            return f"list({value})" if written == item else f"[{written} for {item} in {value}]"
        if is_record(hint) or self._member.has_codec:
            name = f"codec_{len(self._names)}"
            self._names[name] = self._member.codec(hint)
            return f"{name}.write({value})"
        if self._member.is_time:
            return f"to_text({value})"
        # `_value_` is a plain attribute, while `value` calls two functions of Python
        return f"{value}._value_" if isinstance(hint, type) and issubclass(hint, Enum) else value
