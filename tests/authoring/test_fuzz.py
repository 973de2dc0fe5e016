"""For any source, generating answers with problems or with manifests; it never raises and never hangs."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dcf.authoring.generation import generate
from dcf.skills.manifest import judge

SOURCES = Path(__file__).parent / "sources"
FILES = {
    "skills.csv": "csv/skills.csv",
    "skill_tool_refs.csv": "csv/skill_tool_refs.csv",
    "mcp_tools.csv": "csv/mcp_tools.csv",
    "mcp_cases.csv": "csv/mcp_cases.csv",
    "a.skill.yaml": "yaml/price.skill.yaml",
    "tools.yaml": "yaml/tools/pricing.tools.yaml",
    "price-order/SKILL.md": "agent_skills/price-order/SKILL.md",
    "price-order/dcf.yaml": "agent_skills/price-order/dcf.yaml",
}
BESIDE = {
    "skills.csv": ("skill_tool_refs.csv", "mcp_tools.csv"),
    "skill_tool_refs.csv": ("skills.csv", "mcp_tools.csv"),
    "mcp_tools.csv": ("mcp_cases.csv",),
    "mcp_cases.csv": ("mcp_tools.csv",),
    "price-order/SKILL.md": ("price-order/dcf.yaml",),
    "price-order/dcf.yaml": ("price-order/SKILL.md",),
}
"""The other files that a file needs."""

TOKENS = st.sampled_from(
    [
        "\n",
        "\r\n",
        ",",
        '"',
        '""',
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "&a ",
        "*a",
        "---\n",
        "!!int ",
        "null",
        "\t",
        "#",
        "'",
    ]
)
PIECES = st.one_of(
    TOKENS, st.text(max_size=5), st.sampled_from(["1e999", "\ud800", "\x00", "\x1b[2J", "../../x", "😀"])
)


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(FILES)), edits=st.lists(st.tuples(st.integers(0, 3000), PIECES), min_size=1, max_size=4)
)
@example(name="tools.yaml", edits=[(0, "&a *a")])
@example(name="mcp_cases.csv", edits=[(200, '"')])
def test_a_damaged_source_is_judged_and_never_breaks_the_generator(name: str, edits: list[tuple[int, str]]) -> None:
    text = (SOURCES / FILES[name]).read_text("utf-8")
    for at, piece in edits:
        place = at % (len(text) + 1)
        text = text[:place] + piece + text[place + len(piece) // 2 :]
    with tempfile.TemporaryDirectory() as folder:
        for other in BESIDE.get(name, ()):
            (Path(folder) / other).parent.mkdir(exist_ok=True)
            shutil.copy(SOURCES / FILES[other], Path(folder) / other)
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        generation = generate(Path(folder))
    assert all(problem.message.isprintable() for problem in generation.problems)
    if generation.ok:
        assert all(judge(manifest.document).ok for manifest in generation.manifests)


@settings(max_examples=30)
@given(content=st.binary(max_size=300))
@pytest.mark.parametrize("name", ["a.skill.yaml", "skills.csv", "a/SKILL.md"])
def test_bytes_of_any_kind_are_refused_in_words(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        assert generate(Path(folder)).problems or name == "skills.csv"
