"""Projects, from Python."""

import pytest

from dcf.client import Client
from dcf.errors import NotFound, Refused
from tests.python.workflows import EMPTY


def test_a_project_is_made_found_listed_and_deleted(client: Client, run_id: str) -> None:
    made = client.put_project(run_id, name="Shop", paths=[f"/srv/{run_id}"], git={"branch": "main"})
    assert (made.existed, made.changed, made.project.paths[0].path) == (False, True, f"/srv/{run_id}")
    assert not client.put_project(run_id, name="Shop").changed
    with pytest.raises(Refused):
        client.put_project(run_id, name="Store")
    run = client.start(EMPTY, project=run_id)
    project = client.get_project(path=f"/srv/{run_id}")
    assert (project.project.project, project.overview.newest_runs) == (run_id, (run.workflow_id,))
    assert [item.workflow_id for item in client.list(project=run_id)] == [run.workflow_id]
    assert run_id in [item.project for item in client.list_projects()]
    assert client.get(run.workflow_id).project == run_id
    assert client.delete_project(run_id).existed
    with pytest.raises(NotFound):
        client.get_project(run_id)
