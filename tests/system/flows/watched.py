"""Watches the functions of a flow file in real processes: a test sees their calls, and holds the one that it wants.

A copy of the file calls `watch(globals())` at its end. Each call of a task then writes a line when it begins and one
when it ends into `calls.jsonl` of the folder that DCF_TEST_HOOKS names. While `FILE.TASK.hold` lies there, a call waits
before it begins its work, if its arguments contain the text of that file.
"""

import functools
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dcf.steps.plain_values import plain
from dcf.steps.vocabulary import Task
from tests.support.waiting import wait_until

LOG: Final = "calls.jsonl"
LONGEST_S: Final = 300


def watch(names: dict[str, Any]) -> None:
    """Replace the tasks of a module by watched ones, before a flow of it is compiled."""
    file = Path(str(names["__file__"])).stem
    for name, value in list(names.items()):
        if isinstance(value, Task):
            names[name] = replace(value, function=watched(f"{file}.{name}", value.function))


def watched(key: str, function: Callable[..., Any]) -> Callable[..., Any]:
    hooks = Path(os.environ.get("DCF_TEST_HOOKS", "."))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = json.dumps([plain(list(args)), plain(kwargs)], sort_keys=True)
        _write(hooks / LOG, {"task": key, "arguments": arguments, "what": "began", "pid": os.getpid()})
        if _is_held(hooks / f"{key}.hold", arguments):
            wait_until(lambda: not _is_held(hooks / f"{key}.hold", arguments), LONGEST_S)
        try:
            return function(*args, **kwargs)
        finally:
            _write(hooks / LOG, {"task": key, "arguments": arguments, "what": "ended", "pid": os.getpid()})

    return call


def _is_held(hold: Path, arguments: str) -> bool:
    try:
        return hold.read_text("utf-8") in arguments
    except FileNotFoundError:
        return False


def _write(path: Path, line: dict[str, Any]) -> None:
    """Append a line in one write, so that lines of several processes do not mix."""
    with path.open("a", encoding="utf-8", buffering=1) as log:
        log.write(json.dumps(line) + "\n")
