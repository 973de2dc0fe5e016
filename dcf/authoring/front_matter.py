"""Markdown files that begin with YAML between two lines of ---: both parts, each with its place. Pure."""

from typing import Final

from dcf.authoring.yaml_text import read_yaml
from dcf.values.located import Located, Report, SourcePlace

_FENCE: Final = "---"


def split(text: str, name: str, report: Report, example: str = "name, description") -> tuple[Located, Located] | None:
    """Split a file into its front matter and its body; None, and a reported problem, without front matter."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if lines[0].rstrip() != _FENCE or end is None:
        message = "The file does not begin with frontmatter between two lines of ---."
        report.refuse(SourcePlace(name, 1), "no_frontmatter", message, f"Begin with ---, {example}, ---.")
        return None
    front = read_yaml("\n".join(lines[1:end]), name, report, first_line=2)
    if front is None:
        return None
    return front, Located("\n".join(lines[end + 1 :]), SourcePlace(name, end + 2, "body"))
