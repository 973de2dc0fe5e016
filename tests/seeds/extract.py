"""Reads the tools, their parameters and the fields of their answers out of the five seed documents.

`python -m tests.seeds.extract DIRECTORY > tests/seeds/tools.json` makes the table again. This repository does not
have the documents. Content of a document that is not in a list, a table or a block is left out.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

Tool = dict[str, list[str]]
Document = dict[str, Tool]

_TOOLS: Final = re.compile(r"(?:\d+\. )?`?[a-z]+_[a-z_]+`?(?: / `[a-z_]+`)*")
"""The heading of a section about a tool, or about several."""

_FIELD: Final = re.compile(r"  (\w+)\??:")
_BLOCK: Final = re.compile(r"```typescript\n(.*?)```", re.DOTALL)
_CALL: Final = re.compile(r"\b([a-z]+_[a-z]+)\(\{([^)]*)\}\)")


def sections(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield each section about tools: their names, and its text up to the next heading."""
    pieces = re.split(r"(?m)^#{2,4} (.*)$", text)
    for heading, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if _TOOLS.fullmatch(heading):
            yield re.findall(r"[a-z_]{2,}", heading), body


def part(text: str, *titles: str) -> str:
    """Return what stands below a bold title, up to the next one."""
    for title in titles:
        _, is_there, rest = text.partition(f"**{title}")
        if is_there:
            return rest.partition("\n**")[0]
    return ""


def bullets(text: str, place: int = 0) -> list[str]:
    """Return the names before the colon of each line of a list; of `added.tool_ids` the first part.

    Where several tools share the list, a line "`a` / `b`:" has a name for each; `place` is that of the tool.
    """
    result: list[str] = []
    for head in [line.partition(":")[0] for line in text.splitlines() if line.startswith("- `")]:
        names = [name.partition(".")[0] for name in re.findall(r"`([^`]+)`", head)]
        result += [names[place]] if " / " in head else names
    return unique(result)


def fields(text: str) -> list[str]:
    """Return the fields of the first object of a block, those inside of it left out; also of one in a line."""
    block = _BLOCK.search(text)
    if block is not None:
        body = re.split(r"(?m)^\}", block[1])[0]
        own = [match[1] for line in body.splitlines() if (match := _FIELD.match(line))]
        return unique(own)
    inline = re.search(r"`\{ (.*?) \}`", text)
    return unique(re.findall(r"(\w+): true", inline[1])) if inline else []


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in order."""
    return list(dict.fromkeys(names))


def read_dcf(text: str) -> Document:
    """Sections with lists, and tables of tools that have names alone."""
    head = text.partition("## RedisJSON Tools Reference")[0]
    document: Document = {}
    for names, body in sections(head):
        listed, answers = part(body, "Parameters", "Key Parameters"), bullets(part(body, "Response Fields"))
        document |= {name: {"takes": bullets(listed, at), "answers": answers} for at, name in enumerate(names)}
    for line in re.findall(r"(?m)^\*\*Tools using this pattern\*\*: (`.*)$", head):
        document |= {
            name: {"takes": [], "answers": []} for name in re.findall(r"`(\w+)`", line) if name not in document
        }
    for title in ("RedisJSON", "File System", "Common"):
        table = text.partition(f"## {title} Tools Reference")[2].partition("\n---")[0]
        document |= {name: {"takes": [], "answers": []} for name in re.findall(r"(?m)^\| `(\w+)` \|", table)}
    return document


def read_deepwork(text: str) -> Document:
    document: Document = {}
    pieces = re.split(r"(?m)^### \d+\. `(\w+)`$", text)
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        own = body.partition("\n---")[0]
        takes = re.findall(r"(?m)^\| `(\w+)` \|", own)
        document[name] = {"takes": takes, "answers": fields(own.partition("#### Returns")[2])}
    return document


def read_openfactory(text: str) -> Document:
    tools = text.partition("\n## Tools")[2].partition("\n## Resources")[0]
    document: Document = {}
    for names, body in sections(tools):
        document |= {n: {"takes": fields(part(body, "Input")), "answers": fields(part(body, "Output"))} for n in names}
    return document


def read_midex(text: str) -> Document:
    document: Document = {}
    for names, body in sections(text):
        if "**Input Schema" not in body:
            continue
        takes = fields(part(body, "Input Schema"))
        same = re.search(r"Same as `(\w+)` with `(\w+)` instead of `(\w+)`", body)
        if same is not None:
            takes = [same[2] if name == same[3] else name for name in document[same[1]]["takes"]]
        document |= {name: {"takes": takes, "answers": fields(part(body, "Returns"))} for name in names}
    return document


def read_mission_control(text: str) -> Document:
    table = text.partition("| State | Tool |")[2].partition("\n\n")[0]
    document: Document = {name: {"takes": [], "answers": []} for name in re.findall(r"`([a-z]+_[a-z]+)`", table)}
    for name, inside in _CALL.findall(text):
        names = [piece.partition(":")[0].strip() for piece in re.sub(r"\[.*?\]", "", inside).split(",")]
        document[name]["takes"] = unique([*document[name]["takes"], *names])
    for name, result in re.findall(r"([a-z]+_[a-z]+)\([^)]*\) → (\w+_id)", text):
        document[name]["answers"] = unique([*document[name]["answers"], result])
    return document


READERS: Final[dict[str, tuple[str, Callable[[str], Document]]]] = {
    "deepwork": ("000", read_deepwork),
    "openfactory": ("001", read_openfactory),
    "midex": ("002", read_midex),
    "dcf": ("003", read_dcf),
    "mission-control": ("004", read_mission_control),
}


def extract(directory: Path) -> dict[str, Document]:
    """Return the tools of each document; the names of the files begin with its number."""
    documents = {}
    for system, (number, read) in READERS.items():
        (path,) = directory.glob(f"{number}_*")
        documents[system] = read(path.read_text("utf-8"))
    return documents


if __name__ == "__main__":
    sys.stdout.write(json.dumps(extract(Path(sys.argv[1])), indent=1, allow_nan=False) + "\n")
