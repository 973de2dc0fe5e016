"""An agent writes a summary; its output must have the fields of Summary."""

from dataclasses import dataclass

from dcf import agent, flow


@dataclass
class Summary:
    """The output of the agent."""

    title: str
    sentences: list[str]


@flow
def summary(url: str) -> str:
    """Have the agent `writer` summarise a page."""
    written = agent("writer", f"Summarise {url} in three sentences.", output=Summary, name="Write")
    return f"{written.title}: {len(written.sentences)} sentences"
