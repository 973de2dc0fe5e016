"""Turns a workflow written in YAML into JSON text in which each key stays at its line and column.

So every reader of documents, and every message with a line, works for both. It reads no file and follows no tag.
"""

from dcf.authoring.yaml_text import MAX_YAML, aligned_json, read_yaml
from dcf.errors import InvalidArgument
from dcf.values.located import Report


def json_of_yaml(text: str, name: str) -> str:
    """Return the document as JSON text with the lines of the YAML; raise InvalidArgument for YAML that is not read."""
    if len(text.encode()) > MAX_YAML:
        raise InvalidArgument(f"{name} has more than {MAX_YAML} bytes of YAML.", "Write the document as JSON.")
    report = Report()
    if read_yaml(text, name, report) is None:
        problem = report.problems[0]
        raise InvalidArgument(f"{problem.place}: {problem.message}", problem.hint)
    return aligned_json(text)
