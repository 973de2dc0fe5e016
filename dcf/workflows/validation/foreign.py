"""Warns about parts of a machine that only AWS does: calls of its services, placeholders of templates, roles, buckets.

Such a machine is valid, and runs with functions of its own. Each warning says what dcf does instead.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from dcf.asl.resources import FOR_CALLBACK, read_resource
from dcf.values.json_text import Json, parts_of
from dcf.values.names import escaped
from dcf.workflows.validation.references import states_of
from dcf.workflows.validation.verdict import MAX_FINDINGS

_SERVICE: Final = re.compile(r"arn:aws[a-z-]*:states:::[\w-]+:")
_MACHINE: Final = re.compile(r"arn:aws[a-z-]*:states:[\w-]+:\d*:stateMachine:")
_BUCKET: Final = re.compile(r"arn:aws[a-z-]*:states:::s3:")
_PLACEHOLDER: Final = re.compile(r"\$\{[\w.:-]+\}")
_MACHINES: Final = frozenset({"Branches", "ItemProcessor", "Iterator"})


def foreign_warnings(machine: Json, path: str) -> list[str]:
    """List the parts of the machine at `path` that dcf does not support, as `pointer: sentence`."""
    sentences = (f"{where}: {sentence}" for where, sentence in _foreign_parts(machine, path))
    return list(islice(sentences, MAX_FINDINGS))


def _foreign_parts(machine: Json, path: str) -> Iterator[tuple[str, str]]:
    for where, name, state in states_of(machine, path):
        shown = escaped(name)
        if state.get("Type") == "Task":
            yield from _of_task(where, shown, state)
        if state.get("Type") == "Map":
            yield from _of_map(where, state)
        own = {field: value for field, value in state.items() if field not in _MACHINES}
        placeholder = next(_placeholders(own), None)
        if placeholder is not None:
            field, text = placeholder
            worked = f'Leave the Resource out, and write a Python function for the Task: @task("{shown}").'
            advice = worked if field == "Resource" else "Write the value itself."
            yield f"{where}/{field}", f"dcf does not fill in {escaped(text)} in '{shown}'. {advice}"


def _of_task(where: str, shown: str, state: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    if "Credentials" in state:
        yield (
            f"{where}/Credentials",
            f"dcf takes no role of AWS for '{shown}', and ignores Credentials. Remove the field.",
        )
    resource = state.get("Resource")
    if not isinstance(resource, str) or "AgentBinding" in state:
        return
    read = read_resource(resource)
    if read.kind == "child":
        for field in ("Parameters", "Arguments"):
            called = state.get(field)
            target = called.get("StateMachineArn") if isinstance(called, dict) else None
            if isinstance(target, str) and _MACHINE.match(target):
                named = target.rpartition(":")[2]
                message = f"dcf starts no state machine of AWS. Write the name of a workflow of dcf, such as '{named}'."
                yield f"{where}/{field}/StateMachineArn", escaped(message, 400)
    elif _SERVICE.match(resource) and not read.is_invocation:
        message = f"dcf does not call {escaped(resource)}. Write a Python function for the Task that does: "
        hands_out = "hands the task token out. The Task waits until a caller ends it with the token."
        work = hands_out if resource.endswith(FOR_CALLBACK) else "returns the result."
        yield f"{where}/Resource", f'{message}@task("{shown}"). It gets the input of the Task, and {work}'


def _of_map(where: str, state: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for field, instead in (
        ("ItemReader", "It reads DIRECTORY/BUCKET/KEY below the directories of DCF_ITEMS_DIRS. Put the files there."),
        (
            "ResultWriter",
            "The results stay in the run, and no file is written. Without ResultWriter they are the output.",
        ),
    ):
        part = state.get(field)
        resource = part.get("Resource") if isinstance(part, dict) else None
        if isinstance(resource, str) and _BUCKET.match(resource):
            yield f"{where}/{field}", f"dcf reads and writes no bucket of S3. {instead}"


def _placeholders(fields: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a state with a placeholder of a template, and the placeholder."""
    for field, value in fields.items():
        for part in parts_of(value):
            if isinstance(part, str) and not part.startswith("{%"):
                match = _PLACEHOLDER.search(part)
                if match is not None:
                    yield field, match[0]
