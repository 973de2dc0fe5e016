import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcf.errors import InvalidArgument
from dcf.workflows.validation import Validation, validate, validate_document
from dcf.workflows.validation.schema import check_schema
from tests.support.tables import rows

Json = Any

BUNDLE = {
    "agents": [{"id": "agent-0", "name": "worker"}],
    "tools": [{"name": "search"}],
    "blocks": [],
}
MANIFEST = {"manifestId": "skill.Sum@1.0.0", "skillName": "Sum", "skillVersion": "1.0.0", "skillPackageId": None}
TASK = {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}, "skills": ["Sum@1.0.0"]}}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    directory = tmp_path / "imports"
    directory.mkdir()
    (directory / "worker.af").write_text(json.dumps(BUNDLE))
    (directory / "sum.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "secret.af").write_text(json.dumps(BUNDLE))
    return directory


def document(**changes: Json) -> dict[str, Json]:
    return {
        "workflow_id": "w",
        "workflow_name": "A workflow",
        "version": "1.0.0",
        "af_imports": [{"uri": "worker.af", "version": "2"}],
        "skill_imports": [{"uri": "sum.json"}],
        "asl": machine(A={**TASK, "End": True}),
    } | changes


def machine(**states: Json) -> dict[str, Json]:
    return {"StartAt": next(iter(states)), "States": states}


def judged(base: Path, workflow: Json, **options: Json) -> Validation:
    return validate_document(workflow, imports_base_dir=base, skills_base_dir=base, **options)


def codes(verdict: Validation) -> set[tuple[str, str]]:
    return {(problem.path, problem.code) for problem in verdict.problems}


def test_a_good_document_is_valid_as_text_and_as_a_native_value(base: Path) -> None:
    for workflow in (document(), json.dumps(document()), json.dumps(document()).encode()):
        verdict = judged(base, workflow)
        assert (verdict.ok, verdict.exit_code, verdict.problems, verdict.schema_errors) == (True, 0, (), ())
        assert verdict.resolution["state_skill_map"] == {"A": [{"skill": "Sum@1.0.0", "manifestId": "skill.Sum@1.0.0"}]}
        assert verdict.graph["start_exists"] is True
        assert verdict.graph["terminal_states_ok"] is True


def test_each_import_is_recorded_with_the_digest_of_what_was_read(base: Path) -> None:
    resolution = judged(base, document()).resolution
    digest = hashlib.sha256((base / "worker.af").read_bytes()).hexdigest()
    record = {"uri": "worker.af", "status": "ok", "error": None, "agents": 1, "tools": 1, "sha256": digest}
    assert resolution["af_imports"] == [record]
    assert resolution["skill_imports"][0]["skills"] == 1
    assert resolution["agents_index_size"] == 2
    assert resolution["skills_index_size"] == 4


@rows("text", ["", "{", '{"a": 1, "a": 2}', "[NaN]", '"\\ud800"', b"\xff", "[" * 9999])
def test_what_is_no_json_has_exit_code_4(base: Path, text: str) -> None:
    verdict = judged(base, text)
    assert verdict.exit_code == 4
    assert [problem.stage for problem in verdict.problems] == ["input"]


@rows(
    ("change", "path", "code"),
    [
        ({"surplus": 1}, "/surplus", "unknown_field"),
        ({"version": "one"}, "/version", "invalid_value"),
        ({"workflow_id": 7}, "/workflow_id", "wrong_type"),
        ({"asl": {"StartAt": "A", "States": {"A": {}}}}, "/asl/States/A", "missing_field"),
        ({"asl": {"StartAt": "A", "States": {"A": {"Type": "Job"}}}}, "/asl/States/A/Type", "invalid_value"),
        ({"asl": machine(A={"Type": "Task", "End": True})}, "/asl/States/A", "missing_field"),
        ({"af_imports": [{"uri": "worker.af", "version": "3"}]}, "/af_imports/0/version", "invalid_value"),
        ({"af_v2_entities": {}}, "/af_v2_entities", "missing_field"),
    ],
)
def test_a_document_of_the_wrong_form_has_exit_code_1(base: Path, change: Json, path: str, code: str) -> None:
    verdict = judged(base, document(**change))
    assert verdict.exit_code == 1
    assert (path, code) in codes(verdict)
    assert len(verdict.schema_errors) == sum(problem.stage == "schema" for problem in verdict.problems)
    assert any(line.startswith(f"{path[1:]}: ") for line in verdict.schema_errors)


def test_a_document_that_is_no_object_is_a_matter_of_form(base: Path) -> None:
    assert judged(base, []).schema_errors == ("<root>: This must be an object, not an array.",)


def test_what_the_schema_says_the_language_does_not_repeat(base: Path) -> None:
    verdict = judged(base, document(asl=machine(A={**TASK, "Next": 5})))
    assert [problem.stage for problem in verdict.problems if problem.path == "/asl/States/A/Next"] == ["schema"]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("../secret.af", "import_refused"),
        ("/etc/passwd", "import_refused"),
        ("file:///etc/passwd", "import_refused"),
        ("file://elsewhere/worker.af", "import_refused"),
        ("https://example.org/worker.af", "import_refused"),
        ("nothing.af", "import_not_found"),
        (".", "import_not_found"),
        ("a\x00b", "import_refused"),
        ("link.af", "import_refused"),
        ("loop", "import_not_found"),
        ("empty.af", "import_not_json"),
        ("sum.json", "import_not_usable"),
    ],
)
def test_an_import_that_cannot_be_used_is_refused_and_the_file_stays_unknown(base: Path, uri: str, code: str) -> None:
    (base / "link.af").symlink_to(base.parent / "secret.af")
    (base / "loop").symlink_to(base / "loop")
    (base / "empty.af").touch()
    verdict = judged(base, document(af_imports=[{"uri": uri, "version": "2"}]))
    assert verdict.exit_code == 2
    assert ("/af_imports/0/uri", code) in codes(verdict)
    assert verdict.resolution["af_imports"][0]["status"] == "error"
    assert str(base) not in json.dumps(verdict.as_json())


def test_an_import_may_be_an_absolute_path_or_a_file_uri_below_the_directory(base: Path) -> None:
    for uri in (str(base / "worker.af"), (base / "worker.af").as_uri()):
        assert judged(base, document(af_imports=[{"uri": uri}])).ok


def test_integrity_is_checked_in_every_usual_spelling(base: Path) -> None:
    content = (base / "worker.af").read_bytes()
    digest = hashlib.sha256(content).digest()
    spelled = base64.b64encode(digest).decode()
    longer = base64.b64encode(hashlib.sha512(content).digest()).decode()
    for good in (digest.hex(), f"sha256-{spelled}", f"sha256:{digest.hex()}", f"sha512-{longer}"):
        assert judged(base, document(af_imports=[{"uri": "worker.af", "integrity": good}])).ok
    other = hashlib.sha256(b"other").hexdigest()
    for bad, code in ((other, "integrity_mismatch"), ("md5-abc", "invalid_integrity")):
        verdict = judged(base, document(af_imports=[{"uri": "worker.af", "integrity": bad}]))
        assert ("/af_imports/0/integrity", code) in codes(verdict)


@rows("name", ["skill.Sum@1.0.0", "Sum@1.0.0", "sum@1.0.0", "SUM@1.0.0", "skill://Sum@1.0.0"])
def test_a_skill_is_found_by_each_of_its_names(base: Path, name: str) -> None:
    task = {**TASK, "AgentBinding": {"agent_template_ref": {"id": "agent-0"}, "skills": [name]}, "End": True}
    assert judged(base, document(asl=machine(A=task))).ok


def test_several_manifests_may_stand_in_one_file(base: Path) -> None:
    other = MANIFEST | {"manifestId": "skill.Mean@1.0.0", "skillName": "Mean"}
    (base / "both.json").write_text(json.dumps({"skills": [MANIFEST, other]}))
    assert judged(base, document(skill_imports=[{"uri": "both.json"}])).ok
    (base / "both.json").write_text(json.dumps({"skills": [MANIFEST, {}]}))
    assert judged(base, document(skill_imports=[{"uri": "both.json"}])).exit_code == 2


def test_skills_of_a_task_are_looked_up_as_those_of_its_binding_are(base: Path) -> None:
    verdict = judged(base, document(asl=machine(A={**TASK, "Skills": ["Sum@1.0.0", "x@1.0.0"], "End": True})))
    assert codes(verdict) == {("/asl/States/A/Skills/1", "unresolved_skill")}
    assert '"skill_imports": [{"uri": "<file>.json"}]' in verdict.problems[0].hint
    assert verdict.resolution["state_skill_map"] == {"A": [{"skill": "Sum@1.0.0", "manifestId": "skill.Sum@1.0.0"}]}


def test_the_schema_of_documents_knows_what_a_task_tells_its_worker(base: Path) -> None:
    details = {
        "Instructions": "Do it.",
        "OutputSchema": {"type": "object"},
        "Errors": ["Late"],
        "Skills": ["Sum@1.0.0"],
    }
    details["Areas"] = ["src/**"]
    assert judged(base, document(asl=machine(A={**TASK, **details, "End": True}))).ok
    wrong = {"Instructions": 1, "OutputSchema": "object", "Errors": "Late", "Skills": [""], "Areas": "src"}
    verdict = judged(base, document(asl=machine(A={**TASK, **wrong, "End": True})))
    assert {problem.path for problem in verdict.problems if problem.stage == "schema"} == {
        *(f"/asl/States/A/{name}" for name in ("Instructions", "OutputSchema", "Errors", "Areas")),
        "/asl/States/A/Skills/0",
    }


def test_references_are_checked_at_every_level_of_nesting(base: Path) -> None:
    lost = {
        "Type": "Task",
        "AgentBinding": {"agent_template_ref": {"name": "nobody"}, "skills": ["x@1.0.0"]},
        "End": True,
    }
    inner = {"Type": "Map", "ItemProcessor": machine(B=lost), "End": True}
    verdict = judged(base, document(asl=machine(P={"Type": "Parallel", "Branches": [machine(M=inner)], "End": True})))
    where = "/asl/States/P/Branches/0/States/M/ItemProcessor/States/B/AgentBinding"
    assert verdict.exit_code == 2
    assert codes(verdict) == {
        (f"{where}/agent_template_ref", "unresolved_agent"),
        (f"{where}/skills/0", "unresolved_skill"),
    }
    assert verdict.resolution["unresolved_skill_ids"] == ["x@1.0.0"]
    missing = {"where": f"{where}/agent_template_ref", "ref": {"id": None, "name": "nobody"}}
    assert verdict.resolution["unresolved_agent_refs"] == [missing]


def test_an_existing_agent_may_be_declared_instead_of_imported(base: Path) -> None:
    task = {"Type": "Task", "AgentBinding": {"agent_ref": {"name": "reviewer"}}, "End": True}
    declared = [{"agent_name": "reviewer", "agent_ref": {"id": "agent-77"}}]
    assert judged(base, document(asl=machine(A=task))).exit_code == 2
    assert judged(base, document(asl=machine(A=task), agents=declared)).ok


def test_a_binding_without_an_agent_and_one_that_names_two_are_refused(base: Path) -> None:
    (base / "two.af").write_text(json.dumps({"agents": [{"id": "a", "name": "worker"}, {"id": "b", "name": "other"}]}))
    for binding, code in (
        ({}, "missing_agent"),
        ({"agent_template_ref": {"id": "a", "name": "other"}}, "ambiguous_agent"),
    ):
        task = {"Type": "Task", "AgentBinding": binding, "End": True}
        verdict = judged(base, document(af_imports=[{"uri": "two.af"}], asl=machine(A=task)))
        assert [problem.code for problem in verdict.problems] == [code]


def test_an_agent_that_two_files_bring_is_a_warning(base: Path) -> None:
    (base / "more.af").write_text(json.dumps(BUNDLE))
    verdict = judged(base, document(af_imports=[{"uri": "worker.af"}, {"uri": "more.af"}]))
    assert verdict.ok
    assert "several agents" in verdict.warnings[0]


def test_the_graph_is_summed_up_as_the_seed_asks(base: Path) -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": True, "Next": "Gone"}], "Default": "B"}
    states = {"A": choice, "B": {"Type": "Pass", "End": True, "Next": "A"}, "Island": {"Type": "Succeed"}}
    verdict = judged(base, document(asl=machine(**states)))
    assert verdict.exit_code == 3
    assert verdict.graph == {
        "start_exists": True,
        "missing_states": [],
        "invalid_transitions": [{"state": "A", "to": "Gone"}],
        "terminal_states_ok": False,
        "unreachable_states": ["Island"],
    }
    verdict = judged(base, document(asl={"StartAt": "Z", "States": {"A": {"Type": "Succeed"}}}))
    assert verdict.graph["missing_states"] == ["Z"]
    assert verdict.graph["start_exists"] is False


def test_all_stages_report_at_once_and_the_first_decides_the_exit_code(base: Path) -> None:
    task = {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "nobody"}}, "Next": "Gone"}
    verdict = judged(base, document(surplus=1, af_imports=[{"uri": "gone.af"}], asl=machine(A=task)))
    assert [problem.stage for problem in verdict.problems] == ["schema", "imports", "references", "graph"]
    assert verdict.exit_code == 1


def test_another_schema_may_be_given_and_a_useless_one_is_the_callers_error(base: Path) -> None:
    assert judged(base, document(surplus=1), schema={"type": "object"}).ok
    assert codes(judged(base, document(), schema={"minProperties": 99})) == {("", "invalid_value")}
    for useless in ({"type": "nonsense"}, {"$ref": "https://example.org/schema.json"}):
        with pytest.raises(InvalidArgument, match="cannot be read as JSON Schema"):
            judged(base, document(), schema=useless)


def test_every_field_of_every_state_passes_the_schema() -> None:
    assert check_schema(document(asl=machine(**_all_fields()))) == []


def _all_fields() -> dict[str, Json]:
    inner = {"StartAt": "X", "States": {"X": {"Type": "Succeed"}}, "ProcessorConfig": {"Mode": "INLINE"}}
    flow: Json = {
        "InputPath": "$",
        "OutputPath": None,
        "ResultPath": None,
        "Parameters": {},
        "ResultSelector": {},
        "Assign": {},
    }
    work = {
        "Retry": [{"ErrorEquals": ["E"]}],
        "Catch": [{"ErrorEquals": ["E"], "Next": "A"}],
        "Next": "A",
        "Comment": "c",
    }
    binding = {
        "agent_template_ref": {"id": "a", "name": "b"},
        "agent_ref": {"id": "a"},
        "skills": ["s"],
        "tool_name": "t",
        "lifecycle": {"mode": "pooled", "destroy_on_end": False, "reuse_key": "k"},
    }
    return {
        "Task": {"Type": "Task", "AgentBinding": binding, "Resource": "a:b", "TimeoutSeconds": 5, **flow, **work},
        "Beat": {**TASK, "HeartbeatSecondsPath": "$.h", "TimeoutSecondsPath": "$.t", "Credentials": {"RoleArn": "r"}},
        "Choice": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% true %}", "Next": "A"}],
            "Default": "A",
            "Output": 1,
        },
        "Pass": {"Type": "Pass", "Result": [1], "End": True, "QueryLanguage": "JSONPath"},
        "Wait": {"Type": "Wait", "Seconds": "{% 5 %}", "Timestamp": "t", "SecondsPath": "$", "TimestampPath": "$"},
        "Parallel": {"Type": "Parallel", "Branches": [inner], **flow, **work},
        "Map": {
            "Type": "Map",
            "ItemProcessor": inner,
            "ItemsPath": "$",
            "ItemSelector": {},
            "MaxConcurrency": 1,
            **work,
        },
        "Far": {
            "Type": "Map",
            "Iterator": inner,
            "ItemReader": {},
            "ItemBatcher": {},
            "ResultWriter": {},
            "Label": "l",
        },
        "Fail": {"Type": "Fail", "Error": "E", "Cause": "c", "ErrorPath": "$", "CausePath": "$"},
        "Succeed": {"Type": "Succeed"},
    }


def test_plain_asl_is_judged_without_the_schema_and_a_document_without_its_imports() -> None:
    assert validate(machine(A={"Type": "Task", "End": True})) == {"ok": True, "exit_code": 0, "problems": []}
    assert validate(document(af_imports=[{"uri": "gone.af"}]))["ok"]
    assert validate(document(surplus=1))["exit_code"] == 1
    conversation = validate(json.dumps(machine(A={"Type": "Task", "Next": "B"})))
    assert conversation["exit_code"] == 3
    assert conversation["problems"][0].keys() == {"path", "code", "message", "hint", "stage"}
    assert validate("{")["exit_code"] == 4


def test_a_native_value_that_unfolds_without_end_is_refused_at_once() -> None:
    value: list[Json] = []
    for _ in range(60):
        value = [value, value]
    assert validate(value)["exit_code"] == 4
    value.append(value)
    assert validate(value)["exit_code"] == 4


NAMES = st.sampled_from(
    ("asl", "StartAt", "States", "Type", "Next", "End", "A", "B", "AgentBinding", "skills", "agent_ref", "id", "uri")
) | st.sampled_from(
    ("Branches", "ItemProcessor", "Choices", "Catch", "af_imports", "skill_imports", "agents", "workflow_id", "a/~b")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=5),
    max_leaves=25,
)


@given(VALUES | st.text() | st.binary())
def test_whatever_is_given_a_verdict_comes_back(value: Json) -> None:
    verdict = validate_document(value, imports_base_dir=Path("/nowhere"), skills_base_dir=Path("/nowhere"))
    assert verdict.exit_code in range(5)
    assert verdict.ok is (verdict.exit_code == 0)
    assert validate(value)["exit_code"] in range(5)


@given(st.dictionaries(NAMES, VALUES), NAMES, VALUES)
def test_whatever_is_changed_in_a_document_a_verdict_comes_back(states: Json, name: str, value: Json) -> None:
    changed = document(asl={"StartAt": "A", "States": states | {"A": {**TASK, name: value}}}) | {name: value}
    verdict = validate_document(changed, imports_base_dir=Path("/nowhere"), skills_base_dir=Path("/nowhere"))
    assert verdict.exit_code in range(1, 5)
    assert all(problem.message.endswith((".", "?")) and problem.hint.endswith(".") for problem in verdict.problems)
