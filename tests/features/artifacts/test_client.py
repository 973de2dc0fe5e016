"""Artifacts, from Python."""

import hashlib
import secrets
from dataclasses import fields
from pathlib import Path

import pytest

from dcf.client import Client, KeptArtifact, ListedProject, ProjectDetails, ProjectOverview
from dcf.errors import InvalidArgument, NotFound, Refused
from tests.python.workflows import EMPTY


def test_bytes_texts_and_files_come_back_as_they_were(client: Client, run_id: str, tmp_path: Path) -> None:
    client.start(EMPTY, workflow_id=run_id)
    file = tmp_path / "report.bin"
    file.write_bytes(data := secrets.token_bytes(50_000))
    put_artifact = client.put_artifact(run_id, file)
    assert (put_artifact.name, put_artifact.size, put_artifact.sha256) == (
        "report.bin",
        50_000,
        hashlib.sha256(data).hexdigest(),
    )
    assert client.put_artifact(run_id, data, name="report.bin") == put_artifact
    assert client.get_artifact(run_id, put_artifact.artifact_id).content == data
    assert client.get_artifact(run_id, put_artifact.artifact_id, offset=100, length=7).content == data[100:107]
    text = client.put_artifact(run_id, "Grüße", name="hello.txt", metadata={"a": 1})
    assert client.get_artifact(run_id, text.artifact_id).text == "Grüße"
    assert [artifact.artifact_id for artifact in client.list_artifacts(run_id)] == [
        put_artifact.artifact_id,
        text.artifact_id,
    ]


def test_what_cannot_be_kept_is_refused(client: Client, run_id: str, tmp_path: Path) -> None:
    client.start(EMPTY, workflow_id=run_id)
    with pytest.raises(InvalidArgument):
        client.put_artifact(run_id, b"nameless")
    with pytest.raises(InvalidArgument):
        client.put_artifact(run_id, tmp_path / "missing")
    client.put_artifact(run_id, b"one", name="a", artifact_id="a")
    with pytest.raises(Refused):
        client.put_artifact(run_id, b"two", name="a", artifact_id="a")
    with pytest.raises(Refused):
        client.get_artifact(run_id, "missing")
    with pytest.raises(NotFound):
        client.put_artifact("nowhere", b"one", name="a")


def test_no_field_of_what_is_on_the_shelf_is_left_out(served: Client, run_id: str) -> None:
    served.put_project(run_id, max_in_progress=2, budget={"tokens": 5})
    shown = served._tools.call("get_project", project=run_id)
    assert set(shown["project"]) == {field.name for field in fields(ProjectDetails)}
    assert set(shown["overview"]) == {field.name for field in fields(ProjectOverview)}
    listed = served._tools.call("list_projects", limit=1)["projects"][0]
    assert set(listed) == {field.name for field in fields(ListedProject)}
    served.start(EMPTY, workflow_id=run_id)
    served.put_artifact(run_id, "x", name="x")
    (artifact,) = served._tools.call("list_artifacts", workflow_id=run_id)["artifacts"]
    assert set(artifact) == {field.name for field in fields(KeptArtifact)}
