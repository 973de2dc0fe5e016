"""A model without a mind: it sends what it was told to, and then does what the refusal says, word by word.

It sees the list of tools and the answers. Its `facts` are what a person who gives it work would know: values by the
names that arguments have on the list. It insists on the arguments in `means`, and gives up all others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.tools.calls import Answer, Tools

_MISPLACED = re.compile(r"^Leave out (?P<names>[\w, ]+?)(?P<ways>, or send (?:it|them) .+)?\.")
_WAY = re.compile(r"or send (?:it|them) ([^,.]+)")
_WITH = re.compile(r"(?:with (?P<needed>.+?))?(?:(?: and |^)without (?P<without>.+))?$")
_CHOSEN = re.compile(r"(\w+) (?:'(\w+)'|(true|false))")
_COMPLETE = re.compile(r"^Send (\w+), or what you sent with (?P<needed>[^,.]+)")
_MISSING = re.compile(r"The argument (\w+) is missing")
_UNKNOWN = re.compile(r"There is no argument '(\w+)'")
_TO_PASS = re.compile(r"\bpass what they say as (\w+)")
_PLACE = re.compile(r"<.*>")
_CALL = re.compile(r"\b(\w+)\(([^)]*)\)")
_MOST_TURNS = 4


@dataclass(kw_only=True)
class ScriptedModel:
    """Its knowledge, the points on which it insists, and its calls."""

    tools: Tools
    facts: Mapping[str, Any]
    means: frozenset[str] = frozenset()
    calls: list[dict[str, Any]] = field(default_factory=list)

    async def do(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool of the list until an answer is ok; fail where a refusal does not say what to do."""
        assert tool in self.tools.listed
        while len(self.calls) < _MOST_TURNS:
            assert arguments not in self.calls, "the refusal led back to a call that was refused"
            self.calls.append(arguments)
            answer = await self.tools.call(tool, **arguments)
            if answer.code == "ok":
                return answer
            arguments = self._corrected(tool, arguments, answer)
        raise AssertionError(f"not corrected after {self.calls}")

    def _corrected(self, tool: str, sent: dict[str, Any], answer: Answer) -> dict[str, Any]:
        hint = answer.hint
        if (match := _MISPLACED.match(hint)) is not None:
            return self._placed(sent, match["names"], match["ways"] or "")
        if (match := _COMPLETE.match(hint)) is not None:
            return self._completed(sent, match[1], match["needed"])
        mended = next((step for step in answer.payload.get("next") or () if step["tool"] == tool), None)
        if mended is not None:
            return {name: self._filled(name, value, sent) for name, value in mended["arguments"].items()}
        if (lacking := _MISSING.search(answer.error) or _TO_PASS.search(hint)) is not None:
            return sent | {lacking[1]: self.facts[lacking[1]]}
        if (unknown := _UNKNOWN.search(answer.error)) is not None:
            return {name: value for name, value in sent.items() if name != unknown[1]}
        named = [self._called(sent, call[2]) for call in _CALL.finditer(hint) if call[1] == tool]
        assert named, f"nothing to go by: {answer.text}"
        return next(arguments for arguments in named if arguments not in self.calls)

    def _placed(self, sent: dict[str, Any], names: str, ways: str) -> dict[str, Any]:
        """Leave out what does not go with the rest, or send it with what it goes with."""
        foreign = set(re.split(r", | and ", names))
        if not foreign & self.means:
            return {name: value for name, value in sent.items() if name not in foreign}
        possible = [_WITH.match(way) for way in _WAY.findall(ways)]
        way = next(result for result in possible if result is not None and self._agrees(result["needed"] or ""))
        without = set(re.split(r", | and ", way["without"] or ""))
        values = {name: value for name, value in sent.items() if name not in without}
        return values | self._needed(way["needed"] or "")

    def _completed(self, sent: dict[str, Any], missing: str, needed: str) -> dict[str, Any]:
        """Send what is missing, if it is known; else what was sent in the other way."""
        if missing in self.facts:
            return sent | {missing: self.facts[missing]}
        return sent | self._needed(needed)

    def _agrees(self, needed: str) -> bool:
        """Return True if nothing else is known of what is needed, and all of it is known."""
        return all(self.facts.get(name, value) == value for name, value in _chosen(needed).items()) and all(
            name in self.facts for name in _named(needed)
        )

    def _needed(self, text: str) -> dict[str, Any]:
        return _chosen(text) | {name: self.facts[name] for name in _named(text)}

    def _called(self, sent: dict[str, Any], text: str) -> dict[str, Any]:
        """Send what a call that a hint names has, and of the rest what is insisted on."""
        values = {name: value for name, value in sent.items() if name in self.means}
        for part in text.split(", "):
            name, _, value = part.partition("=")
            values[name] = value or self.facts[name]
        return values

    def _filled(self, name: str, value: Any, sent: dict[str, Any]) -> Any:
        is_place = isinstance(value, str) and _PLACE.fullmatch(value)
        return (sent[name] if name in sent else self.facts[name]) if is_place else value


def _chosen(text: str) -> dict[str, Any]:
    return {name: value or word == "true" for name, value, word in _CHOSEN.findall(text)}


def _named(text: str) -> list[str]:
    return [part for part in text.split(" and ") if part and " " not in part]
