"""A scripted coding agent: it corrects a file by nothing but the error that `dcf validate` prints.

It knows Python and no rules of flows. Each rule takes the reason or the advice of the first complaint literally, at the
line and the marks that the text has. Where no rule fits, the error was not enough, and the author gives up.
"""

import ast
import builtins
import re
from collections.abc import Callable
from typing import Final, NamedTuple

FIRST: Final = re.compile(
    r"^\S+?:(?P<line>\d+):(?P<column>\d+): (?P<reason>[^\n]*)\n"
    r"(?:  (?P<advice>\S[^\n]*)\n)?    [^\n]*\n *(?P<marks>\^+)$",
    re.MULTILINE,
)
"""The first complaint: its place, the reason, the advice, and the marks below the source."""


class GaveUp(Exception):
    """No rule fits the error: its text does not say what to write."""


class Complaint(NamedTuple):
    """A complaint as the author reads it; `at` and `to` are the ends of the mark in the line."""

    line: int
    at: int
    to: int
    reason: str
    advice: str


Rule = Callable[[list[str], Complaint], bool]
"""Changes the lines of a file, if the complaint asks for what the rule can do."""


def correct(text: str, error: str) -> str:
    """Return the file with its first complaint corrected; raise GaveUp where the error does not say how."""
    match = FIRST.search(error)
    if match is None:
        return _correct_the_import(text, " ".join(error.split()))
    column = int(match["column"]) - 1
    marked = Complaint(
        int(match["line"]) - 1, column, column + len(match["marks"]), match["reason"], match["advice"] or ""
    )
    lines = text.split("\n")
    if not any(rule(lines, marked) for rule in RULES):
        raise GaveUp(error)
    return "\n".join(lines)


def _correct_the_import(text: str, error: str) -> str:
    """Correct a file that Python cannot import: what is not known there, or an await."""
    meant = re.search(r"cannot import name '(\w+)'.* Did you mean '(\w+)'\?", error)
    if meant is not None:
        return re.sub(rf"\b{meant[1]}\b", meant[2], text, count=1)
    awaited = re.search(r"line (\d+)\) Leave await out", error)
    if awaited is None:
        raise GaveUp(error)
    lines = text.split("\n")
    lines[int(awaited[1]) - 1] = lines[int(awaited[1]) - 1].replace("await ", "")
    return "\n".join(lines)


def respell(lines: list[str], read: Complaint) -> bool:
    """'urll'. Did you mean 'url'?"""
    meant = re.search(r"(?:'(\w+)'|\.(\w+)\(\))[^']*?\. Did you mean '(\w+)'\?", read.reason)
    if meant is None:
        return False
    wrong = meant[1] or meant[2]
    lines[read.line] = re.sub(rf"\b{wrong}\b", meant[3], lines[read.line])
    return True


def write_the_code(lines: list[str], read: Complaint) -> bool:
    """Write seen = {**seen, 'b': ...}. Or: write seen = {**seen, 'b': seen['b'] + 1}."""
    code = re.fullmatch(r"Write (\w+ = .*)\.", read.advice)
    if code is None:
        return False
    value = lines[read.line].partition(" = ")[2]
    lines[read.line] = _indent(lines[read.line]) + code[1].replace("...", value)
    return True


def write_the_text(lines: list[str], read: Complaint) -> bool:
    """Write f'a {x}'."""
    text = re.fullmatch(r"Write (f'.*')\.", read.advice)
    if text is None:
        return False
    line = lines[read.line]
    lines[read.line] = line[: read.at] + text[1] + line[read.to :]
    return True


def write_a_list(lines: list[str], read: Complaint) -> bool:
    """Write a list: [a, b]."""
    if not read.advice.startswith("Write a list"):
        return False
    line = lines[read.line]
    lines[read.line] = f"{line[: read.at]}[{line[read.at + 1 : read.to - 1]}]{line[read.to :]}"
    return True


def move_to_the_top(lines: list[str], read: Complaint) -> bool:
    """Import at the top of the file."""
    if read.advice != "Import at the top of the file.":
        return False
    lines.insert(0, lines.pop(read.line).strip())
    return True


def put_into_a_task(lines: list[str], read: Complaint) -> bool:
    """Open and close it in one @task. Or: do it, call it in a @task function."""
    if "in one @task" not in read.advice and "in a @task function" not in read.advice:
        return False
    statement = _statement_at(lines, read.line)
    end = statement.end_lineno or statement.lineno
    inner = [line.removeprefix(_indent(lines[read.line])) for line in lines[read.line : end]]
    target = re.match(r"(\w+) = ", inner[0])
    if target is not None:
        inner.append(f"return {target[1]}")
    names = _read_in(statement, "\n".join(lines))
    call = f"step_{read.line}({', '.join(names)})"
    lines[read.line : end] = [_indent(lines[read.line]) + (f"{target[1]} = {call}" if target else call)]
    head = f"def step_{read.line}({', '.join(f'{name}: {_type_of(name, lines)}' for name in names)}) -> Any:"
    _above_the_flow(lines, ["@task", head, *(f"    {line}" for line in inner)])
    return True


def make_the_lambda_a_task(lines: list[str], read: Complaint) -> bool:
    """A lambda has no place in a flow. Write a comprehension, or a @task."""
    written = re.fullmatch(r" *(\w+) = lambda (\w+): (.*)", lines[read.line])
    if "a @task" not in read.advice or written is None:
        return False
    del lines[read.line]
    name, parameter, value = written.groups()
    _above_the_flow(lines, ["@task", f"def {name}({parameter}: Any) -> Any:", f"    return {value}"])
    return True


def decorate(lines: list[str], read: Complaint) -> bool:
    """fetch() is no step. Put @task above it."""
    name = re.match(r"(\w+)\(\) is no step", read.reason)
    if name is None or not read.advice.startswith("Put @task above it"):
        return False
    (at,) = (at for at, line in enumerate(lines) if line.startswith(f"def {name[1]}("))
    lines.insert(at, "@task")
    return True


def annotate(lines: list[str], read: Complaint) -> bool:
    """Annotate it: x: list[str] = ... Or: Annotate its first assignment: seen: dict = ..."""
    advised = re.match(r"Annotate (?:it|its first assignment): (\w+): (.*) = \.\.\.", read.advice)
    if advised is None:
        return False
    marked = re.findall(r"\w+", lines[read.line][read.at : read.to])
    name = marked[-1] if advised[1] == "x" else advised[1]
    at = next(at for at, line in enumerate(lines) if re.match(rf" *{name} = |def digest\(.*\b{name}\b[,)]", line))
    lines[at] = re.sub(rf"\b{name}\b(?= = |[,)])", f"{name}: {advised[2]}", lines[at], count=1)
    return True


RULES: Final[tuple[Rule, ...]] = (
    respell,
    write_the_code,
    write_the_text,
    write_a_list,
    move_to_the_top,
    put_into_a_task,
    make_the_lambda_a_task,
    decorate,
    annotate,
)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _statement_at(lines: list[str], line: int) -> ast.stmt:
    nodes = ast.walk(ast.parse("\n".join(lines)))
    return next(node for node in nodes if isinstance(node, ast.stmt) and node.lineno == line + 1)


def _read_in(statement: ast.stmt, text: str) -> list[str]:
    """Return the names that a statement takes from the flow around it."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    known = {*vars(builtins), *(node.id for node in names if isinstance(node.ctx, ast.Store))}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            known |= {alias.name for alias in node.names}
    return list(dict.fromkeys(node.id for node in names if node.id not in known))


def _type_of(name: str, lines: list[str]) -> str:
    """Return the type of what a step gave the name, as the step declares it."""
    text = "\n".join(lines)
    step = re.search(rf"\b{name} = (\w+)\(", text)
    declared = step and re.search(rf"def {step[1]}\(.*\) -> (\w+):", text)
    return declared[1] if declared else "Any"


def _above_the_flow(lines: list[str], function: list[str]) -> None:
    at = lines.index("@flow")
    lines[at:at] = [*function, "", ""]
