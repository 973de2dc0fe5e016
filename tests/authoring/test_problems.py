"""Sources with something wrong: told with file, line, column and code, all at once, and nothing else happens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcf.authoring.files import MAX_FILE
from dcf.authoring.generation import generate
from dcf.values.located import SourceProblem
from tests.support.tables import rows

SKILLS = "manifestId,skillName,skillVersion,skillDirectives,dataSources.json,permissions.secrets,permissions.egress\n"
SKILL = "skill.a@1.0.0,a,1.0.0,Do it.,,,\n"
REFERENCES = "manifestId,serverId,toolName,required,json_schema\n"
TOOLS = "serverId,toolName,description,paramsSchema.json,rateLimit.rps\n"
TOOL = 's,t,A tool.,"{""type"": ""object""}",\n'
CASES = "serverId,toolName,caseId,match.strategy,match.expr,match.value,response.json,weight,errorMode\n"

YAML_SKILL = "apiVersion: skill/v1\nkind: Skill\nmetadata: {name: a, version: 1.0.0}\nspec: {directives: Do it.}\n"

Write = Callable[..., list[SourceProblem]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes sources and tells what is wrong with them."""

    def problems(**files: str | bytes) -> list[SourceProblem]:
        root = tmp_path / "sources"
        root.mkdir(exist_ok=True)
        for name, content in files.items():
            path = root / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(generate(root).problems)

    return problems


def places(source_problems: list[SourceProblem]) -> list[tuple[str, int | None, str | None, str]]:
    return [
        (source_problem.place.file, source_problem.place.line, source_problem.place.column, source_problem.code)
        for source_problem in source_problems
    ]


def tables(write: Write, skills: str = "", references: str = "", tools: str = "", cases: str = "") -> Any:
    """Write tables whose rows follow one good row each."""
    return places(
        write(
            skills_DOT_csv=SKILLS + SKILL + skills,
            skill_tool_refs_DOT_csv=REFERENCES + references,
            mcp_tools_DOT_csv=TOOLS + TOOL + tools,
            mcp_cases_DOT_csv=CASES + cases,
        )
    )


ROWS: dict[str, tuple[dict[str, str], tuple[str, int, str | None, str]]] = {
    "JSON that is none": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,"[{",,\n'},
        ("skills.csv", 3, "dataSources.json", "invalid_json"),
    ),
    "JSON with a key twice": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,"[{""id"": ""a"", ""id"": ""b"", ""text"": ""x""}]",,\n'},
        ("skills.csv", 3, "dataSources.json", "invalid_json"),
    ),
    "JSON of another kind": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,,"{""A"": 1}",\n'},
        ("skills.csv", 3, "permissions.secrets", "wrong_type"),
    ),
    "an egress that does not exist": (
        {"skills": "skill.b@1.0.0,b,1.0.0,x,,,everywhere\n"},
        ("skills.csv", 3, "permissions.egress", "invalid_value"),
    ),
    "a secret that is a value": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,,"[""sk-123""]",\n'},
        ("skills.csv", 3, "permissions/secrets/0", "invalid_value"),
    ),
    "a version that is none": (
        {"skills": "skill.b@one,b,one,x,,,\n"},
        ("skills.csv", 3, "skillVersion", "invalid_value"),
    ),
    "no directives (D-97j)": (
        {"skills": "skill.b@1.0.0,b,1.0.0,,,,\n"},
        ("skills.csv", 3, None, "missing_field"),
    ),
    "directives of blanks (D-97j)": (
        {"skills": 'skill.b@1.0.0,b,1.0.0," \n ",,,\n'},
        ("skills.csv", 3, None, "missing_field"),
    ),
    "a data source without text (D-97j)": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,"[{""id"": ""a""}]",,\n'},
        ("skills.csv", 3, "dataSources.json[0]", "text_or_file"),
    ),
    "a file outside (D-97j)": (
        {"skills": 'skill.b@1.0.0,b,1.0.0,x,"[{""id"": ""a"", ""file"": ""../../etc/passwd""}]",,\n'},
        ("skills.csv", 3, "dataSources.json[0].file", "path_refused"),
    ),
    "a skill twice (D-97j)": ({"skills": SKILL}, ("skills.csv", 3, None, "duplicate_skill")),
    "a skill twice in another case (D-97j)": (
        {"skills": "skill.A@1.0.0,A,1.0.0,x,,,\n"},
        ("skills.csv", 3, None, "duplicate_skill"),
    ),
    "too few cells": ({"skills": "skill.b@1.0.0,b\n"}, ("skills.csv", 3, None, "wrong_cells")),
    "an open quote": ({"skills": 'skill.b@1.0.0,"b\n'}, ("skills.csv", 3, None, "invalid_csv")),
    "a reference of no skill": (
        {"references": "skill.z@1.0.0,s,t,true,\n"},
        ("skill_tool_refs.csv", 2, None, "unknown_skill"),
    ),
    "a reference to no tool (D-97a)": (
        {"references": "skill.a@1.0.0,s,nothing,true,\n"},
        ("skill_tool_refs.csv", 2, None, "unknown_tool"),
    ),
    "a required that is neither": (
        {"references": "skill.a@1.0.0,s,t,maybe,\n"},
        ("skill_tool_refs.csv", 2, "required", "invalid_flag"),
    ),
    "a reference with another schema": (
        {"references": 'skill.a@1.0.0,s,t,true,"{""type"": ""object"", ""required"": [""x""]}"\n'},
        ("skill_tool_refs.csv", 2, None, "two_schemas"),
    ),
    "a tool needed twice": (
        {"references": "skill.a@1.0.0,s,t,true,\nskill.a@1.0.0,s,t,false,\n"},
        ("skill_tool_refs.csv", 3, "requiredTools/1/toolName", "duplicate_tool"),
    ),
    "a tool without a schema (D-97a)": (
        {"tools": "s,u,A tool.,,\n"},
        ("mcp_tools.csv", 3, None, "missing_schema"),
    ),
    "a schema of no object": (
        {"tools": 's,u,A tool.,"[]",\n'},
        ("mcp_tools.csv", 3, "paramsSchema.json", "invalid_schema"),
    ),
    "a rate that is no number": (
        {"tools": 's,u,A tool.,"{""type"": ""object""}",fast\n'},
        ("mcp_tools.csv", 3, "rateLimit.rps", "invalid_number"),
    ),
    "a tool twice": ({"tools": TOOL}, ("mcp_tools.csv", 3, None, "duplicate_tool")),
    "a tool that must be renamed": (
        {"tools": 's,a/b,A tool.,"{""type"": ""object""}",\n'},
        ("mcp_tools.csv", 3, None, "invalid_name"),
    ),
    "a case of no tool": ({"cases": "s,z,c,always,,,1,,\n"}, ("mcp_cases.csv", 2, None, "unknown_tool")),
    "a case without its tool": ({"cases": "s,,c,always,,,1,,\n"}, ("mcp_cases.csv", 2, None, "missing_field")),
    "a broken pattern": ({"cases": "s,t,c,regex,a,(,1,,\n"}, ("mcp_cases.csv", 2, "match.value", "invalid_match")),
    "a response that is no JSON": (
        {"cases": "s,t,c,always,,,{,,\n"},
        ("mcp_cases.csv", 2, "response.json", "invalid_json"),
    ),
    "a shadowed case (D-97d)": (
        {"cases": "s,t,all,always,,,1,,\ns,t,never,exact,a,b,2,,\n"},
        ("mcp_cases.csv", 3, None, "unreachable_case"),
    ),
}


@rows(("rows", "place"), ROWS.values(), ids=ROWS)
def test_a_row_is_refused_at_its_place(write: Write, rows: dict[str, str], place: Any) -> None:
    assert tables(write, **rows) == [place]


def test_everything_wrong_is_told_at_once(write: Write) -> None:
    result = tables(
        write,
        skills='skill.b@1.0.0,b,1.0.0,x,"[{",,nowhere\n',
        references="skill.z@1.0.0,s,t,true,\n",
        cases="s,t,c,fuzzy,,,1,heavy,\n",
    )
    assert {(file, line, code) for file, line, _, code in result} == {
        ("skills.csv", 3, "invalid_json"),
        ("skills.csv", 3, "invalid_value"),
        ("skill_tool_refs.csv", 2, "unknown_skill"),
        ("mcp_cases.csv", 2, "invalid_value"),
        ("mcp_cases.csv", 2, "invalid_number"),
    }


def test_a_row_after_a_cell_of_several_lines_has_its_own_line(write: Write) -> None:
    rows = 'skill.b@1.0.0,b,1.0.0,"one\ntwo\nthree",,,\nskill.c@1.0.0,c,1.0.0,x,,,nowhere\n'
    assert tables(write, skills=rows) == [("skills.csv", 6, "permissions.egress", "invalid_value")]


def test_a_reference_with_a_schema_of_its_own_needs_no_tool(write: Write) -> None:
    schema = '"{""type"": ""object"", ""properties"": {""q"": {""type"": ""string""}}}"'
    assert tables(write, references=f"skill.a@1.0.0,elsewhere,search,true,{schema}\n") == []


def test_what_can_be_said_once_is_not_said_in_two_columns(write: Write) -> None:
    skills = "manifestId,skillName,skillVersion,skillDirectives,skillPackageId,packageId\n"
    row = "skill.a@1.0.0,a,1.0.0,Do it.,one,two\n"
    assert places(write(skills_DOT_csv=skills + row)) == [("skills.csv", 2, "packageId", "two_columns")]


@rows(
    ("header", "place"),
    [
        ("manifestId,skillName,skillVersion,skillDirectives,colour\n", ("skills.csv", 1, "colour", "unknown_column")),
        ("manifestId,skillName,skillVersion\n", ("skills.csv", 1, "skillDirectives", "missing_column")),
        (
            "manifestId,skillName,skillName,skillVersion,skillDirectives\n",
            ("skills.csv", 1, "skillName", "duplicate_column"),
        ),
    ],
)
def test_a_header_is_refused_at_its_column(write: Write, header: str, place: Any) -> None:
    assert place in places(write(skills_DOT_csv=header))


@rows(
    ("content", "code"),
    [(b"\xff\xfe\x00", "not_utf8"), (b"a\x00b", "not_text"), (b"x" * (MAX_FILE + 1), "file_too_large")],
)
def test_a_file_that_is_no_text_is_refused(write: Write, content: bytes, code: str) -> None:
    assert [item.code for item in write(skills_DOT_csv=content)] == [code]


def test_bytes_that_are_not_utf8_are_found_by_their_line(write: Write) -> None:
    assert places(write(skills_DOT_csv=(SKILLS + "skill.b,").encode() + b"\xff\n")) == [
        ("skills.csv", 2, None, "not_utf8")
    ]


def test_the_mark_that_excel_writes_is_no_part_of_the_first_column(write: Write) -> None:
    assert write(skills_DOT_csv=("\ufeff" + SKILLS + SKILL).replace("\n", "\r\n")) == []


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

HOSTILE: dict[str, tuple[str, int | None, str]] = {
    "an alias bomb": (BOMB, None, "too_many_values"),
    "an alias of itself": ("a: &a [*a]\n", 1, "too_deep"),
    "a deep nest": ("[" * 200 + "]" * 200, 1, "too_deep"),
    "a nest that is deeper than Python's stack": ("[" * 20_000, None, "too_deep"),
    "a Python object": ("a: !!python/object/apply:os.system ['true']\n", 1, "tag_refused"),
    "another tag": ("a: !!binary aGk=\n", 1, "tag_refused"),
    "a tag of its own": ("a: !thing {b: 1}\n", 1, "tag_refused"),
    "a key twice": ("a: 1\nb: 2\na: 3\n", 3, "duplicate_key"),
    "a merge key": ("a: &a {b: 1}\nc:\n  <<: *a\n", 3, "merge_key"),
    "a key that is a list": ("? [a]\n: b\n", 1, "invalid_key"),
    "a key that is a number": ("1: b\n", 1, "invalid_key"),
    "a number without an end": (f"a: {'9' * 5000}\n", 1, "invalid_value"),
    "an infinite number": ("a: 1e999\n", 1, "invalid_value"),
    "a second document": ("a: 1\n---\nb: 2\n", 2, "invalid_yaml"),
    "a tab for indentation": ("a:\n\tb: 1\n", 2, "invalid_yaml"),
    "a control character": ("a: \x07\n", None, "invalid_yaml"),
    "an undefined alias": ("a: *nothing\n", 1, "invalid_yaml"),
    "nothing": ("# only a comment\n", 1, "empty_file"),
    "too much": ("a: " + "x" * 300_000, 1, "file_too_large"),
}


@rows(("text", "line", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_yaml_is_refused(write: Write, text: str, line: int | None, code: str) -> None:
    (first, *_) = write(bad_DOT_skill_DOT_yaml=text)
    assert (first.place.file, first.code) == ("bad.skill.yaml", code)
    assert line is None or first.place.line == line


FRONT = "---\nname: a\ndescription: Does it.\nmetadata: {version: 1.0.0}\n---\nDo it.\n"

OTHERS: dict[str, tuple[dict[str, str], tuple[str, int | None, str | None, str]]] = {
    "another kind of document": (
        {"a.skill.yaml": YAML_SKILL.replace("kind: Skill", "kind: Recipe")},
        ("a.skill.yaml", 2, "kind", "invalid_value"),
    ),
    "fields at the wrong level (D-97c)": (
        {"a.skill.yaml": YAML_SKILL + "permissions: {egress: none}\n"},
        ("a.skill.yaml", 5, "permissions", "unknown_field"),
    ),
    "a boolean for a word (D-97c)": (
        {
            "a.skill.yaml": YAML_SKILL.replace(
                "{directives: Do it.}", "{directives: Do it., permissions: {egress: true}}"
            )
        },
        ("a.skill.yaml", 4, "spec.permissions.egress", "wrong_type"),
    ),
    "a tool without a server (D-97c)": (
        {"a.skill.yaml": YAML_SKILL.replace("{directives: Do it.}", "{directives: Do it., tools: [{ref: t}]}")},
        ("a.skill.yaml", 4, "spec.tools[0].ref", "invalid_ref"),
    ),
    "a file that the index forgot (D-97e)": (
        {
            "a.skill.yaml": YAML_SKILL,
            "tools/_index.yaml": "apiVersion: tools-index/v1\nkind: ToolsIndex\nfiles: []\n",
            "tools/x.tools.yaml": "apiVersion: tools/v1\nkind: ToolsRegistry\nservers: {}\n",
        },
        ("tools/x.tools.yaml", None, None, "unlisted_file"),
    ),
    "an index that leads out (D-97e)": (
        {
            "a.skill.yaml": YAML_SKILL,
            "tools/_index.yaml": "apiVersion: tools-index/v1\nkind: ToolsIndex\nfiles: [../../x.yaml]\n",
        },
        ("tools/../../x.yaml", None, None, "path_refused"),
    ),
    "a skill in two kinds of sources": (
        {"a.skill.yaml": YAML_SKILL, "a/SKILL.md": FRONT},
        ("a.skill.yaml", 1, None, "duplicate_skill"),
    ),
    "a folder of another name": (
        {"b/SKILL.md": FRONT},
        ("b/SKILL.md", 2, "name", "wrong_folder"),
    ),
    "a name that the standard forbids": (
        {"A B/SKILL.md": FRONT.replace("name: a", "name: A B")},
        ("A B/SKILL.md", 2, "name", "invalid_name"),
    ),
    "no frontmatter": ({"a/SKILL.md": "Do it.\n"}, ("a/SKILL.md", 1, None, "no_frontmatter")),
    "frontmatter without an end": ({"a/SKILL.md": "---\nname: a\n"}, ("a/SKILL.md", 1, None, "no_frontmatter")),
    "a field that the standard does not have": (
        {"a/SKILL.md": FRONT.replace("name: a", "name: a\nauthor: me")},
        ("a/SKILL.md", 3, "author", "unknown_field"),
    ),
    "no version anywhere": (
        {"a/SKILL.md": FRONT.replace("metadata: {version: 1.0.0}\n", "")},
        ("a/SKILL.md", 2, None, "missing_field"),
    ),
    "a sidecar about a reference that is not there": (
        {"a/SKILL.md": FRONT, "a/dcf.yaml": "apiVersion: skill-sidecar/v1\nkind: SkillSidecar\nreferences: {x: {}}\n"},
        ("a/dcf.yaml", 3, "references.x", "unknown_reference"),
    ),
    "an empty reference": (
        {"a/SKILL.md": FRONT, "a/references/x.md": " \n"},
        ("a/references/x.md", None, None, "empty_text"),
    ),
    "a skill without a body": (
        {"a/SKILL.md": FRONT.replace("Do it.\n", "")},
        ("a/SKILL.md", 2, "skillDirectives", "missing_field"),
    ),
    "nothing at all": ({}, ("sources", None, None, "no_sources")),
}


@pytest.mark.parametrize(("files", "place"), OTHERS.values(), ids=OTHERS)
def test_a_yaml_file_or_a_folder_is_refused_at_its_place(write: Write, files: dict[str, str], place: Any) -> None:
    named = {name.replace("/", "__").replace(".", "_DOT_"): content for name, content in files.items()}
    assert places(write(**named)) == [place]


def test_what_a_manifest_has_no_place_for_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "run.py").write_text("print()")
    (folder / "SKILL.md").write_text(FRONT.replace("name: a", "name: a\nallowed-tools: Bash"))
    generation = generate(tmp_path)
    assert generation.ok
    assert [warning.split(": ", 1)[1].split(" ")[0] for warning in generation.warnings] == ["allowed-tools", "scripts/"]


def test_a_link_that_leads_out_of_the_sources_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "x.md").write_text("secret")
    (tmp_path / "secret" / "stolen.skill.yaml").write_text(YAML_SKILL)
    root = tmp_path / "sources"
    (root / "a" / "references").mkdir(parents=True)
    (root / "a" / "SKILL.md").write_text(FRONT)
    (root / "a" / "references" / "x.md").symlink_to(tmp_path / "secret" / "x.md")
    (root / "stolen.skill.yaml").symlink_to(tmp_path / "secret" / "stolen.skill.yaml")
    generation = generate(root)
    assert [manifest.record.name for manifest in generation.manifests] == ["a"]
    assert generation.manifests[0].record.data_sources == ()


def test_every_problem_reads_as_two_sentences_and_names_no_place_of_the_machine(write: Write, tmp_path: Path) -> None:
    for sources, _ in ROWS.values():
        tables(write, **sources)
        for problem in generate(tmp_path / "sources").problems:
            assert problem.message.endswith(".")
            assert problem.hint.endswith(".")
            assert str(tmp_path) not in str(problem)
