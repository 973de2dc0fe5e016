"""JSON Pointers (RFC 6901): writes them, follows them, and finds the state that one leads into. Pure."""

from collections.abc import Iterable

from dcf.asl.syntax.fields import token
from dcf.values.json_text import Json


def pointer(steps: Iterable[str | int]) -> str:
    """Return the pointer with these steps."""
    return "".join(f"/{token(str(step))}" for step in steps)


def steps_of(path: str) -> list[str]:
    """Return the steps of a pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def value_at(document: Json, path: str) -> Json:
    """Return the value at a pointer; None when there is none."""
    for step in steps_of(path):
        if isinstance(document, dict) and step in document:
            document = document[step]
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document


def state_in(path: str) -> str | None:
    """Return the name of the innermost state that a pointer leads into; `path` begins at the machine."""
    steps = steps_of(path)
    name = None
    while len(steps) > 1 and steps[0] == "States":
        name = steps[1]
        steps = steps[4:] if steps[2:3] == ["Branches"] else steps[3:]
    return name
