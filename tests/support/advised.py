"""The remedies of a diagnosis, in the words of the command line and of the page."""

from dcf.features.diagnosis.model import Remedy
from dcf.verbs.wording.languages import Labels, command_line
from dcf.verbs.wording.sentences import worded


def advised_command(remedy: Remedy) -> str:
    return command_line(remedy.tool, **remedy.arguments)


def on_page(text: str) -> str:
    return worded(text, Labels())
