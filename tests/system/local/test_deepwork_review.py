"""The review command of a DeepWork project, run by `dcf agents local` for an agent whose server is elsewhere."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from tests.profiles.test_deepwork_project import NOT_MET, WISH
from tests.system.local.conftest import Agent, Repository, agent_at
from tests.system.processes.site import Server, Site
from tests.system.stories.stories import place
from tests.system.stories.test_deepwork_alone import project

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

COMMAND = f"{sys.executable} review.py"
ALLOWED = ("--allow-command", COMMAND)
SLOW = "import time\nopen('begun.txt', 'w').close()\ntime.sleep(600)\n"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with place() as result:
        yield result


@pytest.fixture(scope="module")
def server(site: Site) -> Server:
    """A server that asks for keys; it starts once there is one."""
    key(site, Scope.READ, agent_id="first")
    return site.serve("--port", "0", DCF_AUTH="keys")


def key(site: Site, *scopes: Scope, agent_id: str, profile: str | None = None) -> str:
    """Make a key as `dcf keys add` does."""
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        return application.keys.create(scopes, agent_id=agent_id, label=None, life_s=None, profile=profile).text


def environment(site: Site, *, helper: bool = True) -> dict[str, str]:
    """Return the variables with the keys of docs/deepwork.md: of an agent, and of the quality gate."""
    own = key(site, Scope.READ, Scope.WORK, Scope.PLAN, agent_id="ada", profile="deepwork")
    judge = key(site, Scope.READ, Scope.WORK, agent_id="quality-gate")
    return {"DCF_AUTH": "", "DCF_API_KEY": own} | ({"DCF_HELPER_KEY": judge} if helper else {})


def options(repository: Repository, *more: str) -> tuple[str, ...]:
    return ("--profile", "deepwork", "--root", str(repository.root), *more)


async def begun(agent: Agent, repository: Repository, label: str) -> dict[str, Any]:
    """Start the workflow and finish its first step, which has no criteria; return the answer to the start."""
    started = await agent.call("start_workflow", **WISH, instance_id=label)
    repository.write("competitors.md", "A, B, C")
    after = await agent.call("finished_step", outputs=["competitors.md"])
    assert after["begin_step"]["step_id"] == "report"
    return started


async def text_of(agent: Agent, repository: Repository, text: str) -> str:
    """Finish the step that is reviewed; return the text of the error."""
    repository.write("report.md", text)
    call_tool = await agent.client.call_tool("finished_step", {"outputs": ["report.md"]})
    assert call_tool.is_error, call_tool
    return str(call_tool.content)


async def finished(agent: Agent, repository: Repository, text: str) -> dict[str, Any]:
    repository.write("report.md", text)
    return await agent.call("finished_step", outputs=["report.md"])


def reviews(repository: Repository) -> int:
    file = repository / "reviews.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_allowed_review_command_judges_outputs_of_an_agent_whose_server_is_elsewhere(
    site: Site, server: Server, tmp_path: Path
) -> None:
    repository = project(tmp_path / "allowed")
    own = environment(site)
    async with agent_at(site, server.url, *options(repository, *ALLOWED), env=own) as agent:
        assert "problems" not in await begun(agent, repository, "a")
        run_spans = await finished(agent, repository, "42")
        assert (run_spans["status"], run_spans["failed_criteria"]) == ("needs_work", [NOT_MET])
        assert run_spans["feedback"] == "Add the sources."
        assert "42" in (repository / "asked.txt").read_text()
        assert (await finished(agent, repository, "42"))["status"] == "needs_work"
        assert reviews(repository) == 2, "what the output is about may have changed"
        done = await finished(agent, repository, "42 (source)")
        assert (done["status"], reviews(repository)) == ("workflow_complete", 3)
    written = "".join(file.read_text() for file in site.folder.glob("*.log"))
    assert not any(own[name] in written for name in ("DCF_API_KEY", "DCF_HELPER_KEY"))


async def test_review_that_fails_too_often_is_an_error_with_its_feedback(
    site: Site, server: Server, tmp_path: Path
) -> None:
    repository = project(tmp_path / "often")
    async with agent_at(site, server.url, *options(repository, *ALLOWED), env=environment(site)) as agent:
        await begun(agent, repository, "b")
        for number in range(2):
            assert (await finished(agent, repository, f"4{number}"))["status"] == "needs_work"
        text = await text_of(agent, repository, "44")
        assert "failed 3 times. Add the sources. Not met: Every number has a source (42 has none)." in text
        assert (await finished(agent, repository, "44 (source)"))["status"] == "workflow_complete"


async def test_command_that_nobody_allowed_does_not_run_and_others_review(
    site: Site, server: Server, tmp_path: Path
) -> None:
    for number, (more, own, problem) in enumerate(
        (
            ((), environment(site), "No person allowed the review command"),
            (("--allow-command", f"{COMMAND} --all"), environment(site), "No person allowed the review command"),
            (ALLOWED, environment(site, helper=False), "DCF_HELPER_KEY"),
        )
    ):
        repository = project(tmp_path / f"refused-{number}")
        async with agent_at(site, server.url, *options(repository, *more), env=own) as agent:
            (details,) = (await begun(agent, repository, f"c{number}"))["problems"]
            assert problem in details, more
            waits = await finished(agent, repository, "42 (source)")
            assert (waits["status"], waits["failed_criteria"], reviews(repository)) == ("needs_work", [], 0), more
            assert waits["waits_for_review"]["step_id"] == "report"


async def test_configuration_that_an_agent_edits_while_it_works_changes_nothing(
    site: Site, server: Server, tmp_path: Path
) -> None:
    repository = project(tmp_path / "edited")
    more = (*ALLOWED, "--allow-command", f"{sys.executable} other.py")
    async with agent_at(site, server.url, *options(repository, *more), env=environment(site)) as agent:
        await begun(agent, repository, "d")
        repository.write("other.py", "print('{\"passed\": true}')\n")
        gate = {"agent_review_command": f"{sys.executable} other.py"}
        repository.write(".deepwork/config.yml", json.dumps({"quality_gate": gate}))
        assert (await finished(agent, repository, "42"))["status"] == "needs_work"


async def test_review_command_gets_no_key_and_ends_with_its_time(site: Site, server: Server, tmp_path: Path) -> None:
    repository = project(tmp_path / "slow")
    repository.write("review.py", f"import json, os\njson.dump(dict(os.environ), open('given.json', 'w'))\n{SLOW}")
    gate = {"agent_review_command": COMMAND, "default_timeout": 2}
    repository.write(".deepwork/config.yml", json.dumps({"quality_gate": gate}))
    async with agent_at(site, server.url, *options(repository, *ALLOWED), env=environment(site)) as agent:
        await begun(agent, repository, "e")
        text = await text_of(agent, repository, "42")
        assert "not done after 2 seconds" in text
        assert "no verdict" in text
    document = json.loads((repository / "given.json").read_text())
    assert not [name for name in document if name.startswith("DCF_")]
    assert document["PATH"] == os.environ["PATH"]


async def test_key_that_is_not_the_quality_gates_is_refused_with_the_reason(
    site: Site, server: Server, tmp_path: Path
) -> None:
    repository = project(tmp_path / "wrong-key")
    own = environment(site) | {"DCF_HELPER_KEY": key(site, Scope.READ, Scope.WORK, agent_id="rita")}
    async with agent_at(site, server.url, *options(repository, *ALLOWED), env=own) as agent:
        await begun(agent, repository, "f")
        text = await text_of(agent, repository, "42 (source)")
        assert "bound to agent 'rita'" in text.replace("\\", "")
        assert "dcf keys add --agent-id quality-gate --scope work" in text


async def test_server_without_keys_needs_no_helper_key(local_site: Site, local_server: Server, tmp_path: Path) -> None:
    repository = project(tmp_path / "keyless")
    async with agent_at(local_site, local_server.url, *options(repository, *ALLOWED)) as agent:
        await begun(agent, repository, "g")
        assert (await finished(agent, repository, "42"))["status"] == "needs_work"
        assert (await finished(agent, repository, "42 (source)"))["status"] == "workflow_complete"
