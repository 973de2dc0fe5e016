"""Definitions of the catalogue from files: they are read, and every problem is reported with its line."""

from pathlib import Path
from typing import Any

from dcf.authoring.catalogue_files import CatalogueSources, read_catalogue
from dcf.features.catalogue.model import NewDefinition, Owner
from tests.support.tables import rows

JOB = """name: press_release
version: 1.0.0
summary: Writes a press release.
workflows:
  - name: full
    summary: All of it.
    steps: [outline, [draft, facts]]
steps:
  - id: outline
    name: Outline
    description: What goes in.
    instructions_file: steps/outline.md
    outputs: [outline.md]
  - id: draft
    name: Draft
    description: The text.
    instructions_file: steps/outline.md
    inputs:
      - {name: tone, description: How it sounds.}
      - {file: outline.md, from_step: outline}
    outputs:
      - {file: draft.md, doc_spec: .deepwork/doc_specs/release.md}
    dependencies: [outline]
    quality_criteria: [It is short.]
    hooks: {after_agent: [{prompt: Check it.}]}
  - id: facts
    name: Facts
    description: Checked facts.
    instructions_file: steps/outline.md
    outputs: [facts.md]
    dependencies: [outline]
"""

LATER = """name: review_code
summary: Reviews code.
step_arguments:
  - {name: diff, description: The change., type: string}
  - {name: notes, description: What was found., type: file_path, review: {strategy: individual, instructions: Read.}}
workflows:
  quick:
    summary: One look.
    steps:
      - name: look
        instructions: Look at it.
        inputs: {diff: {required: true}}
        outputs: {notes: {}}
        process_requirements: {tests: The tests were run.}
      - name: deep
        sub_workflow: {workflow_name: deep, workflow_job: other}
"""


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def read(root: Path, files: dict[str, str]) -> CatalogueSources:
    return read_catalogue(write(root, **files), Owner())


def only(catalogue_sources: CatalogueSources) -> NewDefinition:
    assert catalogue_sources.problems == ()
    (definition,) = catalogue_sources.definitions
    return definition


def codes(catalogue_sources: CatalogueSources) -> set[tuple[str, int | None]]:
    return {(problem.code, problem.place.line) for problem in catalogue_sources.problems}


def test_markdown_with_front_matter_is_a_persona_a_rule_or_a_workflow(tmp_path: Path) -> None:
    flow = (
        "---\nname: Ship it\ndescription: Releases.\ntags: [release]\nkeywords: [deploy]\ncomplexity: high\n"
        "owner: ann\nphases:\n  - {phase: build, agent: builder}\n"
        "  - {phase: ship, agent: shipper, dependsOn: [build]}\n---\nBody\n"
    )
    files = {
        "agents/deep/reviewer.md": "---\ndescription: Reads code.\nversion: '2'\n---\n# You review\n",
        "rules/py.md": "---\nname: python\nglobs: ['*.py']\nalwaysApply: true\n---\nType everything.\n",
        "workflows/ship.md": flow,
        "notes/other.md": "no front matter, and no folder of ours",
    }
    result = read(tmp_path, files)
    assert result.problems == ()
    details: dict[str, Any] = {definition.name: definition for definition in result.definitions}
    assert set(details) == {"reviewer", "python", "Ship it"}
    assert (str(details["reviewer"].kind), details["reviewer"].version, details["reviewer"].content) == (
        "persona",
        "2",
        "# You review\n",
    )
    assert (details["python"].globs, details["python"].always_apply) == (("*.py",), True)
    ship = details["Ship it"]
    assert (ship.complexity, ship.keywords, ship.tags, ship.attributes["owner"]) == (
        "high",
        ("deploy",),
        ("release",),
        "ann",
    )
    assert [phase["dependsOn"] for phase in ship.attributes["phases"]] == [[], ["build"]]


def test_a_job_is_read_with_its_instructions(tmp_path: Path) -> None:
    folder = ".deepwork/jobs/press_release"
    item = only(read(tmp_path, {f"{folder}/job.yml": JOB, f"{folder}/steps/outline.md": "Outline it."}))
    assert (str(item.kind), item.name, item.version, item.description) == (
        "job",
        "press_release",
        "1.0.0",
        "Writes a press release.",
    )
    assert item.content["form"] == "steps"
    assert item.content["instructions"] == dict.fromkeys(("outline", "draft", "facts"), "Outline it.")
    assert item.content["job"]["workflows"][0]["steps"] == ["outline", ["draft", "facts"]]
    assert item.source == f"{folder}/job.yml"


def test_a_job_of_the_later_form_is_read_too(tmp_path: Path) -> None:
    item = only(read(tmp_path, {".deepwork/jobs/review_code/job.yml": LATER}))
    assert (item.content["form"], item.version) == ("step_arguments", None)
    assert item.content["job"]["workflows"]["quick"]["steps"][1]["sub_workflow"]["workflow_job"] == "other"


@rows(
    ("wrong", "right", "code"),
    [
        ("name: press_release", "name: Press Release", "invalid_value"),
        ("version: 1.0.0", "version: '1'", "invalid_value"),
        ("version: 1.0.0\n", "", "missing_field"),
        ("summary: Writes", "summery: Writes", "unknown_field"),
        ("dependencies: [outline]", "dependencies: [other]", "unknown_step"),
        ("dependencies: [outline]", "dependencies: [draft]", "circle"),
        ("from_step: outline", "from_step: facts", "not_a_dependency"),
        ("steps: [outline, [draft, facts]]", "steps: [outline, [draft, outline]]", "twice"),
        ("steps: [outline, [draft, facts]]", "steps: [nothing]", "unknown_step"),
        ("instructions_file: steps/outline.md", "instructions_file: steps/none.md", "file_not_found"),
        ("instructions_file: steps/outline.md", "instructions_file: ../../../../etc/passwd", "path_refused"),
        (".deepwork/doc_specs/", "elsewhere/", "invalid_value"),
        ("[{prompt: Check it.}]", "[{prompt: Check it., script: x.sh}]", "invalid_value"),
        ("  - id: facts", "  - id: draft", "twice"),
        ("quality_criteria: [It is short.]", "colour: red", "unknown_field"),
        ("steps:\n  - id: outline", "steps: 7\nx:\n  - id: outline", "wrong_type"),
        ("name: press_release", "name: [", "invalid_yaml"),
    ],
)
def test_every_error_of_a_job_is_told_and_none_is_silent(tmp_path: Path, wrong: str, right: str, code: str) -> None:
    assert wrong in JOB
    folder = ".deepwork/jobs/press_release"
    result = read(tmp_path, {f"{folder}/job.yml": JOB.replace(wrong, right, 1), f"{folder}/steps/outline.md": "Do."})
    assert result.definitions == ()
    assert code in {item for item, _ in codes(result)}, [str(problem) for problem in result.problems]
    assert all(problem.place.file.startswith("jobs/press_release") for problem in result.problems)


@rows(
    ("wrong", "right", "code"),
    [
        ("inputs: {diff: {required: true}}", "inputs: {patch: {}}", "unknown_argument"),
        ("instructions: Look at it.", "instructions: Look.\n        sub_workflow: {workflow_name: x}", "invalid_value"),
        ("type: string", "type: text", "invalid_value"),
        ("strategy: individual", "strategy: some", "invalid_value"),
        ("name: deep\n", "name: look\n", "twice"),
        ("name: notes", "name: diff", "twice"),
        ("summary: One look.", "sumary: One look.", "missing_field"),
    ],
)
def test_every_error_of_the_later_form_is_told(tmp_path: Path, wrong: str, right: str, code: str) -> None:
    assert wrong in LATER
    result = read(tmp_path, {".deepwork/jobs/review_code/job.yml": LATER.replace(wrong, right, 1)})
    assert (result.definitions, code in {item for item, _ in codes(result)}) == ((), True), result.problems


def test_a_file_with_problems_is_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    result = read(
        tmp_path,
        {
            "rules/good.md": "---\nname: good\n---\nx",
            "rules/bare.md": "no front matter",
            "rules/typed.md": "---\nname: typed\ntags: python\n---\nx",
            "agents/long.md": f"---\nname: {'n' * 300}\n---\nx",
            "workflows/odd.md": "---\ncomplexity: huge\nphases:\n  - {phase: a, agent: b, dependsOn: [c]}\n---\n",
        },
    )
    assert [definition.name for definition in result.definitions] == ["good"]
    details = {(problem.place.file, problem.code) for problem in result.problems}
    assert details >= {
        ("rules/bare.md", "no_frontmatter"),
        ("rules/typed.md", "wrong_type"),
        ("agents/long.md", "too_long"),
        ("workflows/odd.md", "invalid_value"),
        ("workflows/odd.md", "unknown_phase"),
    }
    assert ("wrong_type", 3) in codes(result)


def test_two_files_of_one_name_and_an_empty_directory_are_told(tmp_path: Path) -> None:
    same = "---\nname: same\n---\n"
    result = read(tmp_path / "two", {"rules/a.md": same, "rules/b.md": same})
    assert [problem.code for problem in result.problems] == ["twice"]
    assert [problem.code for problem in read(tmp_path / "none", {"x.txt": ""}).problems] == ["no_sources"]


def test_contracts_are_json_schemas_by_their_names(tmp_path: Path) -> None:
    result = only(read(tmp_path, {"contracts/StepOutput.schema.json": '{"type": "object"}'}))
    assert (result.kind, result.name, result.content) == ("contract", "StepOutput", {"type": "object"})
    broken = read(tmp_path / "broken", {"contracts/StepOutput.schema.json": "{"})
    assert [str(problem).split(":")[0] for problem in broken.problems] == ["contracts/StepOutput.schema.json"]


def test_file_types_of_a_rule_are_its_globs(tmp_path: Path) -> None:
    result = only(read(tmp_path, {"rules/python.md": '---\nname: python\nfileTypes: ["*.py"]\n---\nTypes.'}))
    assert result.globs == ("*.py",)
