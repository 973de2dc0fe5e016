"""Moves data into a state, out of it and into variables, in either query language.

In JSONPath mode a template reads the state's input, and the meaning of `$` depends on the field. In JSONata mode a
template reads `$states`. Nothing here depends on the type of the state.
"""

from collections.abc import Mapping
from dataclasses import field

from dcf.asl.expressions.paths import ROOT, Path
from dcf.asl.expressions.templates import Template
from dcf.asl.limits import bounded, refuse_too_much
from dcf.asl.surroundings import Surroundings
from dcf.values.json_text import Json
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Flow:
    """A state's data flow fields. A path that is None is null in the definition; `parameters` also holds Arguments.

    `is_plain`: no field moves anything, as in most states. What is read is the input, and what is put out the result.
    """

    jsonata: bool = False
    input_path: Path | None = ROOT
    parameters: Template | None = None
    result_selector: Template | None = None
    result_path: Path | None = ROOT
    output_path: Path | None = ROOT
    output: Template | None = None
    assign: Template | None = None
    is_plain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        paths = (self.input_path, self.result_path, self.output_path)
        templates = (self.parameters, self.result_selector, self.output, self.assign)
        is_plain = all(path is not None and path.is_root for path in paths) and not any(templates)
        object.__setattr__(self, "is_plain", is_plain)

    def document(self, raw: Json, around: Surroundings) -> Json:
        """Return the document that the state's other fields read: its selected input, or `$states`."""
        return {"input": raw} if self.jsonata else select(self.input_path, raw, around)

    def effective(self, raw: Json, around: Surroundings) -> Json:
        """Return the effective input: what the worker gets."""
        if self.is_plain:
            return raw
        document = self.document(raw, around)
        if self.parameters is None:
            return raw if self.jsonata else document
        return render(self.parameters, document, around)

    def work_output(self, raw: Json, result: Json, around: Surroundings) -> Json:
        """Return the output of a state whose work returned `result`."""
        if self.is_plain:
            return result
        if self.jsonata:
            return result if self.output is None else render(self.output, {"input": raw, "result": result}, around)
        if self.result_selector is not None:
            result = render(self.result_selector, result, around)
        return select(self.output_path, place(self.result_path, raw, result), around)

    def work_assigned(self, raw: Json, result: Json, around: Surroundings) -> Mapping[str, Json]:
        """Return the variables set by a state whose work returned `result`."""
        return assigned(self.assign, {"input": raw, "result": result} if self.jsonata else result, around)

    def plain_output(self, raw: Json, around: Surroundings) -> Json:
        """Return the output of a state that does no work."""
        if self.jsonata:
            return raw if self.output is None else render(self.output, {"input": raw}, around)
        return select(self.output_path, select(self.input_path, raw, around), around)


def select(path: Path | None, document: Json, around: Surroundings) -> Json:
    """Return the value at a path; a null path selects an empty object."""
    if path is None:
        return {}
    return document if path.is_root else bounded(path.read(document, around))


def place(path: Path | None, raw: Json, result: Json) -> Json:
    """Return a copy of the input with the result at a path; a null path discards the result."""
    if path is None:
        return raw
    return result if path.is_root else bounded(path.write(raw, result))


def render(template: Template, document: Json, around: Surroundings) -> Json:
    """Render a template; raise StateError when the result exceeds the size limit of a state's data."""
    around.spending.size = 0
    return bounded(template.render(document, around))


def assigned(template: Template | None, document: Json, around: Surroundings) -> Mapping[str, Json]:
    """Render an Assign; return no variables when there is none."""
    if template is None:
        return {}
    assigned: Mapping[str, Json] = render(template, document, around)
    refuse_too_much({**around.variables, **assigned})
    return assigned
