"""Each interface words a hint its own way: as a method of the client, as a command, as the label of a button."""

from collections.abc import Mapping
from typing import Any

from dcf.verbs.wording.languages import Commands, Labels, Methods
from dcf.verbs.wording.sentences import Language, message_worded, worded
from tests.support.tables import rows

ORDER: Mapping[str, Any] = {"workflow_id": "order-42"}


@rows(
    ("text", "python", "command", "label"),
    [
        (
            "`finalize_workflow` closes it.",
            '`client.finalize("order-42")` closes it.',
            "`dcf runs finalize order-42` closes it.",
            "“Finalize the run” closes it.",
        ),
        (
            "`hold_run(hold=false)` releases it.",
            '`client.hold("order-42", hold=False)` releases it.',
            "`dcf runs hold order-42 --release` releases it.",
            "“Hold the run” releases it.",
        ),
        (
            "`resolve_state(skip=true)` ends it.",
            '`client.resolve("order-42", state, skip=True)` ends it.',
            "`dcf states resolve order-42 STATE --skip` ends it.",
            "“Resolve the state” ends it.",
        ),
        (
            "`list_schedules(name=nightly)` tells.",
            '`client.list_schedules(name="nightly")` tells.',
            "`dcf schedules show nightly` tells.",
            "dcf schedules show nightly tells.",
        ),
        ("Leave out `input_json`.", "Leave out `input`.", "Leave out `--input`.", "Leave out input json."),
        ("Send `every_s=900`.", "Send `every_s=900`.", "Send `--every 900`.", "Send every s = 900."),
        ("Set `keep`, and `code`.", "Set `keep`, and `code`.", "Set `keep`, and `code`.", "Set `keep`, and `code`."),
    ],
)
def test_a_hint_is_worded_by_each_interface(text: str, python: str, command: str, label: str) -> None:
    def said(language: Language) -> str:
        return worded(text, language, "create_schedule", ORDER)

    assert (said(Methods()), said(Commands()), said(Labels())) == (python, command, label)


def test_the_message_of_a_refusal_names_arguments_as_each_interface_does() -> None:
    message = "input_json and of_several_words are no numbers."
    message_wordeds = [
        message_worded(message, language, "create_schedule") for language in (Methods(), Commands(), Labels())
    ]
    assert message_wordeds == [
        "input and of_several_words are no numbers.",
        "--input and of_several_words are no numbers.",
        "input json and of_several_words are no numbers.",
    ]
