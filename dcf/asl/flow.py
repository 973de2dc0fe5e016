"""How data moves into a state, out of it and into variables, in either query language.

In JSONPath mode a template reads the state's input, and `$` means different things at different times; in
JSONata mode it reads `$states`. Nothing here knows what kind of state it serves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.asl.limits import bounded, refuse_too_much
from dcf.asl.paths import ROOT, Path
from dcf.asl.surroundings import Surroundings
from dcf.asl.templates import Template
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A state's data flow fields. A `None` path is the null of the definition; `parameters` are also Arguments."""

    jsonata: bool = False
    input_path: Path | None = ROOT
    parameters: Template | None = None
    result_selector: Template | None = None
    result_path: Path | None = ROOT
    output_path: Path | None = ROOT
    output: Template | None = None
    assign: Template | None = None

    def document(self, raw: Json, around: Surroundings) -> Json:
        """Make what the other fields of the state read: its selected input, or `$states`."""
        return {"input": raw} if self.jsonata else select(self.input_path, raw, around)

    def effective(self, raw: Json, around: Surroundings) -> Json:
        """Make what the work gets."""
        document = self.document(raw, around)
        if self.parameters is None:
            return raw if self.jsonata else document
        return bounded(self.parameters.render(document, around))

    def work_output(self, raw: Json, result: Json, around: Surroundings) -> Json:
        """Make the output of a state whose work came to `result`."""
        if self.jsonata:
            return result if self.output is None else render(self.output, {"input": raw, "result": result}, around)
        if self.result_selector is not None:
            result = bounded(self.result_selector.render(result, around))
        return select(self.output_path, place(self.result_path, raw, result), around)

    def work_assigned(self, raw: Json, result: Json, around: Surroundings) -> Mapping[str, Json]:
        """Make the variables that a state whose work came to `result` sets."""
        return assigned(self.assign, {"input": raw, "result": result} if self.jsonata else result, around)

    def plain_output(self, raw: Json, around: Surroundings) -> Json:
        """Make the output of a state that does no work."""
        if self.jsonata:
            return raw if self.output is None else render(self.output, {"input": raw}, around)
        return select(self.output_path, select(self.input_path, raw, around), around)


def select(path: Path | None, document: Json, around: Surroundings) -> Json:
    """Read by a path; null selects an empty object."""
    if path is None:
        return {}
    return document if path.is_root else bounded(path.read(document, around))


def place(path: Path | None, raw: Json, result: Json) -> Json:
    """Put a result into a copy of the input; null discards it."""
    if path is None:
        return raw
    return result if path.is_root else bounded(path.write(raw, result))


def render(template: Template, document: Json, around: Surroundings) -> Json:
    """Render a template within the limit of a state's data."""
    return bounded(template.render(document, around))


def assigned(template: Template | None, document: Json, around: Surroundings) -> Mapping[str, Json]:
    """Render an Assign; nothing is set without one."""
    if template is None:
        return {}
    found: Mapping[str, Json] = render(template, document, around)
    refuse_too_much({**around.variables, **found})
    return found
