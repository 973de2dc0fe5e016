"""Cuts files into passages: running text, table cells and names, each with its line. It does not judge them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

Kind = Literal["prose", "heading", "cell", "docstring", "comment", "message", "name", "test"]

_MESSAGES: Final = frozenset(
    {*("help", "short_help", "epilog", "message", "hint", "description", "why", "detail", "details", "summary")}
)
_NO_PROSE: Final = re.compile(r"(?:type:|noqa|nosec|fmt:|pragma|mypy:|ruff:|!|-\*-)")
_CODE_LINE: Final = re.compile(
    r"[=(\[{]\s*$|^\w+\(.*\)$|^(?:import|from|return|if|for|def|class)\b.*[:)]$|==|^\w[\w.]* = "
)
_ITEM: Final = re.compile(r"(?:[-*+]|\d+[.)]) ")
_SECTION: Final = re.compile(r"\w[\w*]*(?: \([^)]*\))?: ")


class Passage(NamedTuple):
    """A text to read as a whole, where it begins, and what kind of text it is."""

    line: int
    kind: Kind
    text: str


def passages(path: Path) -> Iterator[Passage]:
    """Yield the passages of a Markdown or Python file."""
    text = path.read_text("utf-8")
    yield from _of_python(text) if path.suffix == ".py" else _of_markdown(text.splitlines())


def _blocks(lines: Iterable[tuple[int, str]], kind: Kind) -> Iterator[Passage]:
    """Join lines to paragraphs: a blank line or a list item begins a new one."""
    first = 0
    words: list[str] = []
    for number, line in lines:
        if (not line or _ITEM.match(line)) and words:
            yield Passage(first, kind, " ".join(words))
            words = []
        if line:
            first = number if not words else first
            words.append(_ITEM.sub("", line, count=1) if _ITEM.match(line) else line)
    if words:
        yield Passage(first, kind, " ".join(words))


def _of_markdown(lines: list[str]) -> Iterator[Passage]:
    prose: list[tuple[int, str]] = []
    fence, is_comment = "", False
    is_matter = lines[:1] == ["---"]
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if is_matter:
            is_matter = number == 1 or line != "---"
        elif fence or re.match(r"(?:[-*+] |\d+[.)] )?(?:`{3,}|~{3,})", line):
            opened = re.search(r"`{3,}|~{3,}", line)
            fence = ("" if line.startswith(fence) else fence) if fence else (opened[0] if opened else "")
            prose.append((number, ""))
        elif is_comment or line.startswith("<!--"):
            is_comment = "-->" not in line
        elif line.startswith("|"):
            prose.append((number, ""))
            if not re.fullmatch(r"[|\s:-]+", line):
                yield from (Passage(number, "cell", cell) for cell in re.split(r"(?<!\\)\|", line.strip("|")))
        elif line.startswith("#"):
            prose.append((number, ""))
            yield Passage(number, "heading", line.lstrip("# "))
        elif line.startswith((">", "<", "=", "!!!", ":::")) or re.match(r"\[[^\]]+\]: ", line):
            prose.append((number, ""))
        elif not raw.startswith("    ") or (prose and prose[-1][1]) or _ITEM.match(line):
            prose.append((number, line))
    yield from _blocks(prose, "prose")


def _of_python(text: str) -> Iterator[Passage]:
    tree = ast.parse(text)
    yield from _comments(text)
    yield from _names(tree, set())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else ():
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                yield from _docstring(child.value.lineno, child.value.value)
        values: list[ast.expr] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            values = node.exc.args
        elif isinstance(node, ast.Call):
            values = [keyword.value for keyword in node.keywords if keyword.arg in _MESSAGES]
        yield from (message for value in values for message in _message(value))


def _docstring(first: int, text: str) -> Iterator[Passage]:
    """Leave out examples, tables and code, and the names of arguments before their descriptions."""
    lines: list[tuple[int, str]] = []
    is_code, indent_of_code = False, -1
    for number, raw in enumerate(text.split("\n"), first):
        line, indent = raw.strip(), len(raw) - len(raw.lstrip())
        if line and indent <= indent_of_code:
            indent_of_code = -1
        is_code ^= line.startswith("```")
        is_table = bool(re.search(r"[^\s.:]\s{2,}\S", line)) or line.startswith(("|", "--", "+-"))
        skips = is_code or is_table or indent_of_code >= 0 or _CODE_LINE.search(line) is not None
        if skips or line.startswith((">>>", "...", "```", "..", "@")) or re.fullmatch(r"[-=~^]{3,}", line):
            line = ""
        if _SECTION.match(line):
            lines.append((number, ""))
        lines.append((number, _SECTION.sub("", line, count=1) if _SECTION.match(line) else line))
        indent_of_code = indent if line.endswith("::") else indent_of_code
    yield from _blocks(lines, "docstring")


def _comments(text: str) -> Iterator[Passage]:
    lines: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        words = re.sub(r"\s(?:noqa|type: ignore|nosec|fmt:).*", "", token.string.lstrip("#: ").rstrip())
        if token.type != tokenize.COMMENT or _NO_PROSE.match(words) or _CODE_LINE.search(words):
            continue
        is_alone, line = token.line.strip().startswith("#"), token.start[0]
        if not is_alone or (lines and lines[-1][0] != line - 1):
            lines.append((line, ""))
        lines += [(line, words)] if is_alone else [(line, words), (line, "")]
    yield from _blocks(lines, "comment")


def _names(node: ast.AST, seen: set[str]) -> Iterator[Passage]:
    """Yield the names that a program gives, each once in a function."""
    for child in ast.iter_child_nodes(node):
        inner = seen
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Passage(child.lineno, "test" if child.name.startswith("test_") else "name", child.name)
            inner = set()
        name = ""
        if isinstance(child, ast.arg):
            name = child.arg
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            name = child.id
        if name and name not in seen:
            seen.add(name)
            yield Passage(getattr(child, "lineno", 0), "name", name)
        yield from _names(child, inner)


def _message(node: ast.expr) -> Iterator[Passage]:
    """Yield a text for users; a value that is filled in counts as one word."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [
        str(part.value) if isinstance(part, ast.Constant) and isinstance(part.value, str) else " CODE "
        for part in parts
    ]
    text = " ".join("".join(texts).split())
    if text.count(" ") > 2:  # noqa: PLR2004 - two words are a label
        yield Passage(node.lineno, "message", text)
