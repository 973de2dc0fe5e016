"""A plan of Mission Control is read in its document's form, and each error in it is reported with its line."""

from dcf.authoring.mission_plans import MissionTexts, read_plan
from dcf.values.located import Report
from tests.profiles.mission_plan import AGENTS, DEFINITION_MD, WORKFLOW_MD
from tests.support.tables import rows


def texts(workflow: str = WORKFLOW_MD) -> MissionTexts:
    return MissionTexts(name="shop", workflow=workflow, definition=DEFINITION_MD, agents=AGENTS)


def problems(old: str, new: str) -> list[tuple[str, int | None]]:
    """The problems of the plan with a text replaced."""
    assert old in WORKFLOW_MD
    report = Report()
    assert read_plan(texts(WORKFLOW_MD.replace(old, new, 1)), report) is None
    return [(problem.code, problem.place.line) for problem in report.problems]


def test_the_workflow_of_the_document_is_read_whole() -> None:
    report = Report()
    plan = read_plan(texts(), report)
    assert report.problems == []
    assert plan is not None
    assert (plan.name, plan.objective, plan.scope, plan.constraints) == (
        "shop",
        "Sell in zloty.",
        "The shop.",
        "No new service.",
    )
    first, second = plan.phases
    assert [agent.type for agent in first.agents] == ["analyzer", "auditor"]
    assert (first.is_parallel, first.outputs, first.completion) == (True, ("report.md",), "all agents success")
    assert (second.number, second.requires, second.checkpoint) == (2, (1,), "human")


def test_the_phases_may_stand_in_front_matter_or_be_the_whole_file() -> None:
    bare = WORKFLOW_MD.split("```")[1].removeprefix("yaml\n")
    for text in (bare, f"---\n{bare}---\n# Shop\n"):
        plan = read_plan(texts(text), Report())
        assert plan is not None
        assert len(plan.phases) == 2


@rows(
    ("old", "new", "told"),
    [
        ("number: 2", "numbered: 2", ("phase_number", 21)),
        ("number: 2", "number: 1", ("phase_number", 7)),
        ("number: 2", "number: 2.5", ("phase_number", 22)),
        ("requires: 1", "requires: 7", ("unknown_phase", 24)),
        ("requires: 1", "requires: [1, 2]", ("circle", 24)),
        ("type: analyzer", "type: stranger", ("unknown_agent", 10)),
        ('subagent_type: "general-purpose"', "subagent_type: Stranger", ("unknown_agent", 10)),
        ("scope: src/prices/**", "scope: src/**", ("scopes_overlap", 10)),
        ("checkpoint: human", "checkpoint: robot", ("invalid_value", 25)),
        ("parallel: true", "parallel: perhaps", ("wrong_type", 16)),
        ("name: Analysis", "nam: Analysis", ("unknown_field", 8)),
        ("phases:", "phase:", ("missing_field", 4)),
    ],
)
def test_what_is_wrong_is_told_by_its_line(old: str, new: str, told: tuple[str, int]) -> None:
    assert told in problems(old, new)


def test_an_agent_that_writes_files_is_general_purpose() -> None:
    second = 'type: auditor\n        subagent_type: "general-purpose"'
    assert ("cannot_write", 13) in problems(second, "type: auditor\n        subagent_type: Explore")


def test_somebody_can_write_the_outputs_of_a_phase() -> None:
    report = Report()
    text = WORKFLOW_MD.replace('"general-purpose"', "Explore").replace("type: auditor", "type: analyzer")
    assert read_plan(texts(text), report) is None
    assert "cannot_write" in {problem.code for problem in report.problems}


def test_scopes_of_agents_one_after_the_other_may_overlap() -> None:
    text = WORKFLOW_MD.replace("src/prices/**", "src/**").replace("parallel: true", "parallel: false")
    assert read_plan(texts(text), Report()) is not None


def test_the_line_with_the_id_of_the_workflow_is_none_of_its_objectives() -> None:
    definition = "# Definition\n\n## Objectives\n\nSell in zloty.\n\nworkflow_id: `shop-7x`\n"
    texts = MissionTexts(name="shop", workflow=WORKFLOW_MD, definition=definition, agents=AGENTS)
    plan = read_plan(texts, Report())
    assert plan is not None
    assert plan.objective == "Sell in zloty."
