"""The words of lists of tools: where a verb is on no list, the merged tool that stands for it is named."""

from dataclasses import dataclass

from dcf.values.json_text import Json
from dcf.verbs.merged.naming import RETIRED, offered, outer_names, still_needed
from dcf.verbs.wording.calls import CALLS
from dcf.verbs.wording.named import Named, rewritten, value_written
from dcf.verbs.wording.sentences import Call


@dataclass(frozen=True, slots=True)
class Tools:
    """Calls as those of tools on lists. `called` is the tool that was called: arguments have the names that it has."""

    called: str | None = None

    def call(self, call: Call) -> str | None:
        """Return the call in backticks, as one of a tool on a list; None for a verb that is on lists as it is."""
        tool, arguments = offered(call.verb, call.arguments)
        if (tool, arguments) == (call.verb, call.arguments):
            return None
        parts = [f"{name}={value_written(value)}" for name, value in arguments.items()]
        inside = ", ".join((*parts, *still_needed(call.verb, call.arguments)))
        return f"`{tool}({inside})`" if inside else f"`{tool}`"

    def argument(self, verb: str, name: str) -> str | None:
        """Return an argument by its name in the tool that was called."""
        outer = self._outer(verb, name)
        return None if outer == name else f"`{outer}`"

    def value(self, verb: str, name: str, value: Json) -> str | None:
        """Return an argument with its value, by its name in the tool that was called."""
        outer = self._outer(verb, name)
        return None if outer == name else f"`{outer}={value_written(value)}`"

    def _outer(self, verb: str, name: str) -> str:
        return name if self.called is None else outer_names(self.called, verb).get(name, name)


def in_tools(text: str) -> str:
    """Return the description of a tool or argument as lists have it. A model needs no backticks around a call."""
    language = Tools()

    def replacement(named: Named) -> str | None:
        if named.name not in CALLS or named.has_value:
            return None
        return (language.call(Call(verb=named.name, arguments=named.arguments)) or named.written).strip("`")

    return rewritten(text, replacement)


def former_names() -> dict[str, tuple[str, str]]:
    """Return for each verb that is on no list any more the tool that stands for it, and how it is called."""
    return {verb: (offered(verb, {})[0], in_tools(f"`{verb}`")) for verb in sorted(RETIRED)}
