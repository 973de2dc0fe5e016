"""An agent writes, another reviews: the text counts only after the verdict of the reviewer."""

from dataclasses import dataclass

from dcf import agent, flow, gate


@dataclass
class Draft:
    """The output of the writer."""

    text: str
    source: str


@flow
def article(topic: str) -> str:
    """Have `writer` write, and `critic` review, until the critic is content."""
    draft = agent(
        "writer",
        f"Write a sentence about {topic}.",
        output=Draft,
        gates=[gate.review("Every claim has a source.", by="critic")],
        name="Write",
    )
    return f"{draft.text} ({draft.source})"
