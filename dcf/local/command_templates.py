"""Which commands of gates may run on this machine: whole templates of their words, written by a person.

A word of a template matches itself. `{path}` matches one word that names something below the root. `{name}` matches
letters, digits, `_`, `.` and `-` (within a word, too). Neither can begin with `-`, so none is an option. A template has
no wildcard: a wildcard would let options through, and most programs have an option that executes code.
"""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.records import record

PATH: Final = "{path}"
NAME: Final = "{name}"
_NAME: Final = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
_PATH: Final = re.compile(r"[A-Za-z0-9_.][^\0]*", re.ASCII)
_HOW: Final = (
    f"Write each word of the command, e.g. 'pytest -q {PATH}': {PATH} is a file or directory below the root, "
    f"{NAME} a name of letters, digits, _ . and -."
)


@record(frozen=True, slots=True)
class Allowed:
    """The templates of commands that a person allowed, each as its words."""

    templates: tuple[tuple[str, ...], ...] = ()

    def covers(self, words: Sequence[str], root: Path) -> bool:
        """Return True if a template has a word for each word of the command; paths are those below the root."""
        alike = [template for template in self.templates if len(template) == len(words)]
        return any(all(_fits(pattern, word, root) for pattern, word in zip(each, words, strict=True)) for each in alike)


def allowed_by(templates: Sequence[str], file: Path | None) -> Allowed:
    """Return what the options and the lines of a file allow; raise InvalidArgument for what is no template."""
    lines: list[str] = []
    if file is not None:
        try:
            lines = file.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InvalidArgument("The file of allowed commands cannot be read.", "Check --allow-file.") from None
    templates_left = [line for line in (*templates, *lines) if line.strip() and not line.lstrip().startswith("#")]
    return Allowed(tuple(_template(line) for line in templates_left))


def words_of(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command as a shell would split them; it is never given to one."""
    try:
        return tuple(shlex.split(command)) if isinstance(command, str) else tuple(map(str, command))
    except ValueError:
        raise InvalidArgument("A command has an open quotation.", "Write it as for a shell.") from None


def _template(line: str) -> tuple[str, ...]:
    words = words_of(line)
    for number, word in enumerate(words):
        literal = "" if word == PATH else word.replace(NAME, "")
        if "*" in literal or "?" in literal:
            raise InvalidArgument(f"The allowed command '{line[:200]}' has a wildcard.", _HOW)
        if "{" in literal or "}" in literal:
            raise InvalidArgument(f"The allowed command '{line[:200]}' has an unknown placeholder.", _HOW)
        if number == 0 and literal != word:
            raise InvalidArgument(f"The allowed command '{line[:200]}' does not name its program.", _HOW)
    return words


def _fits(pattern: str, word: str, root: Path) -> bool:
    if pattern == PATH:
        return _PATH.fullmatch(word) is not None and _is_below(root, word)
    if NAME in pattern:
        return re.fullmatch(_NAME.join(map(re.escape, pattern.split(NAME))), word, re.ASCII) is not None
    return pattern == word


def _is_below(root: Path, word: str) -> bool:
    real = Path(os.path.realpath(root / word))
    return real.is_relative_to(root) and real.exists()
