"""Parses calls of intrinsic functions, `States.Name(argument, …)`, checks and compiles them.

`intrinsics` defines what the functions do. Nesting is limited, so no text can overflow the stack.
"""

import re
from functools import lru_cache
from typing import Final

from dcf.asl.expressions.intrinsics import FUNCTIONS, Function, fill, produced
from dcf.asl.expressions.paths import Path, parse_path
from dcf.asl.limits import least_size
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

MAX_NESTING: Final = 10

_NAME = re.compile(r"States\.([A-Za-z0-9]+)\s*\(\s*")
_STRING = re.compile(r"'((?:\\['{}\\]|[^'\\])*)'")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?=[\s,)])")
_WORD = re.compile(r"(?:true|false|null)(?=[\s,)])")
_WORDS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_BLANKS = re.compile(r"\s*")
_SLOT = re.compile(r"\\(.)|(\{\})|([{}])", re.DOTALL)
_MAX_DIGITS: Final = 300


@record(frozen=True, slots=True, kw_only=True)
class Constant:
    """A literal argument; `written` is the string between the quotes with its escapes."""

    value: Json
    written: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of an intrinsic function with its arguments."""

    text: str
    name: str
    function: Function
    arguments: "tuple[Constant | Path | Call, ...]"

    def render(self, document: Json, around: Surroundings) -> Json:
        """Evaluate the arguments and then the function; raise StateError when that fails."""
        values = [_value(part, document, around) for part in self.arguments]
        try:
            for value in values:
                if isinstance(value, dict | list | str):
                    around.spending.read(value)
            if self.name == "Format":
                return fill(self._pieces(values[0]), values[1:])
            result = self.function.work(around.chance, *values)
            least_size(result)  # a call around this one may write it as text
            return produced(result)
        except StateError:
            raise
        except (ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else "its arguments are not of the right kind"
            raise StateError("States.IntrinsicFailure", f"'{clip(self.text)}' failed: {clip(reason, 200)}.") from None

    def _pieces(self, template: Json) -> list[str]:
        first = self.arguments[0]
        if isinstance(first, Constant) and first.written is not None:
            return split_slots(first.written)
        if not isinstance(template, str):
            raise ValueError("the first argument of Format must be a string")  # noqa: TRY004 - reported as data
        return template.split("{}")


def parse_call(text: str) -> Call:
    """Compile a call; raise ValueError with the reason when it is invalid."""
    call, end = _call(text, 0, 1)
    if end != len(text):
        raise ValueError(f"'{clip(text)}' continues after the call ends")
    return call


def variables_of(call: Call) -> set[str]:
    """Return the names of the variables that a call reads."""
    variables: set[str] = set()
    for part in call.arguments:
        if isinstance(part, Call):
            variables |= variables_of(part)
        elif isinstance(part, Path) and part.variable is not None:
            variables.add(part.variable)
    return variables


@lru_cache(maxsize=1024)
def split_slots(written: str) -> list[str]:
    """Split a Format template, as written, at each `{}`; raise ValueError for a single brace."""
    pieces, current, position = [], "", 0
    for match in _SLOT.finditer(written):
        current += written[position : match.start()]
        position = match.end()
        escaped, slot, _ = match.groups()
        if escaped is not None:
            current += escaped
        elif slot is not None:
            pieces.append(current)
            current = ""
        else:
            raise ValueError("a brace of the Format template is neither {} nor escaped")
    return [*pieces, current + written[position:]]


def _value(part: Constant | Path | Call, document: Json, around: Surroundings) -> Json:
    return part.value if isinstance(part, Constant) else part.render(document, around)


def _call(text: str, position: int, depth: int) -> tuple[Call, int]:
    match = _NAME.match(text, position)
    if match is None:
        raise ValueError(f"'{clip(text)}' is neither a path nor a call of an intrinsic function")
    name = match.group(1)
    function = FUNCTIONS.get(name)
    if function is None:
        raise ValueError(f"there is no intrinsic function States.{clip(name)}")
    if depth > MAX_NESTING:
        raise ValueError(f"calls nest deeper than {MAX_NESTING} levels")
    arguments, end = _arguments(text, match.end(), depth)
    _check(name, function, arguments)
    return Call(text=text[position:end], name=name, function=function, arguments=tuple(arguments)), end


def _arguments(text: str, position: int, depth: int) -> tuple[list[Constant | Path | Call], int]:
    parts: list[Constant | Path | Call] = []
    if text[position : position + 1] == ")":
        return parts, position + 1
    while True:
        part, position = _argument(text, position, depth)
        parts.append(part)
        position = _skip(text, position)
        closing = text[position : position + 1]
        position = _skip(text, position + 1)
        if closing == ")":
            return parts, position
        if closing != ",":
            raise ValueError(f"'{clip(text)}' lacks a comma or a closing parenthesis")


def _argument(text: str, position: int, depth: int) -> tuple[Constant | Path | Call, int]:
    if text.startswith("States.", position):
        return _call(text, position, depth + 1)
    if text.startswith("$", position):
        end = _path_end(text, position)
        return parse_path(text[position:end]), end
    if match := _STRING.match(text, position):
        written = match.group(1)
        return Constant(value=re.sub(r"\\(.)", r"\1", written), written=written), match.end()
    if match := _WORD.match(text, position):
        return Constant(value=_WORDS[match.group()]), match.end()
    if (match := _NUMBER.match(text, position)) and len(match.group()) <= _MAX_DIGITS:
        number = float(match.group())
        digits = match.group().lstrip("-")
        return Constant(value=int(match.group()) if digits.isdigit() else number), match.end()
    raise ValueError(f"'{clip(text[position:], 20)}' is not an argument of an intrinsic function")


def _path_end(text: str, position: int) -> int:
    """Return where a path among arguments ends: at a comma, blank or parenthesis outside brackets."""
    depth, quote = 0, ""
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif quote:
            quote = "" if character == quote else quote
        elif depth and character in "'\"":
            quote = character
        elif character in "[]":
            depth += 1 if character == "[" else -1
        elif depth == 0 and (character in ",)" or character.isspace()):
            break
        position += 1
    return min(position, len(text))


def _skip(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _check(name: str, function: Function, arguments: list[Constant | Path | Call]) -> None:
    least, most = function.least, function.most
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise ValueError(f"States.{name} cannot take {len(arguments)} arguments")
    for part, kind in zip(arguments, function.kinds, strict=False):
        if isinstance(part, Constant) and not _fits(part.value, kind):
            raise ValueError(f"States.{name} needs {kind} where it is given '{clip(str(part.value))}'")
    if name == "Format" and isinstance(arguments[0], Constant) and arguments[0].written is not None:
        slots = len(split_slots(arguments[0].written)) - 1
        if slots != len(arguments) - 1:
            raise ValueError(f"States.Format has {slots} places to fill and {len(arguments) - 1} values")


def _fits(value: Json, kind: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "any value": True,
        "an array": False,
        "an object": False,
        "a string": isinstance(value, str),
        "a number": number,
        "a boolean": isinstance(value, bool),
    }[kind]
