"""Tells the user of `dcf run` or `dcf watch` why it waits: Redis refuses writes, or does not answer, or no server does.

It must not change anything.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from dcf.cli.wording import in_commands
from dcf.errors import PASSING, DcfError

if TYPE_CHECKING:
    from dcf.features.health.operations import Health

Result = TypeVar("Result")

_EVERY_S: Final = 2.0
"""Seconds between two health reports."""


class Obstacle:
    """The finding that keeps calls from succeeding: said once when it comes, and once when it is gone."""

    def __init__(self, health: "Health", say: Callable[[str], None]) -> None:
        self._health = health
        self._say = say
        self._next = 0.0
        self._said: tuple[str, ...] = ()

    def tell(self, *, at_once: bool = False) -> None:
        """Look, if it is time or to be done at once, and say what changed; called wherever the command waits."""
        if time.monotonic() < self._next and not at_once:
            return
        self._next = time.monotonic() + _EVERY_S
        stopping = [finding for finding in self._health.checked().findings if finding.stops_calls]
        sentences = tuple(in_commands(f"{finding.sentence} {finding.remedy or ''}".rstrip()) for finding in stopping)
        if sentences == self._said:
            return
        for sentence in sentences:
            self._say(f"waiting: {sentence}")
        if not sentences:
            self._say("continuing: Redis accepts writes again.")
        self._said = sentences


class Silence:
    """A server that does not answer: says so once, and once when it answers again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._is_said = False

    def around(self, call: Callable[[], Result]) -> Result:
        """Return what the call returns, and say what changed."""
        try:
            result = call()
        except DcfError as error:
            if error.code in PASSING and not self._is_said:
                self._say(f"waiting: {error.message} {error.hint}")
                self._is_said = True
            raise
        if self._is_said:
            self._say("continuing: the server answers again.")
        self._is_said = False
        return result
