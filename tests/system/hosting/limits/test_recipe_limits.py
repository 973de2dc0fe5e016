"""Every recipe with a provider that says 429 for an hour: no client sleeps under the lease, and the state is parked.

The SDKs are installed with DCF_AGENTS=1.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from dcf.tools.calling.direct import DirectTools
from tests.support.waiting import wait_until
from tests.system.hosting.conftest import Hosting
from tests.system.hosting.environments import CASES, WANTED, WHY_NOT
from tests.system.hosting.model_server import Heard, Said, model_server
from tests.system.processes.site import LONG

pytestmark = [pytest.mark.processes, pytest.mark.timeout(1200), pytest.mark.skipif(not WANTED, reason=WHY_NOT)]

HOUR_S = 3600


def limited(_: Heard) -> Said:
    return Said(status=429, headers={"Retry-After": str(HOUR_S)})


def agents(case: str, url: str, folder: Path, more: str = "") -> str:
    recipe = CASES[case]
    environment = {
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "PYTHONPATH": "",
    }
    table = {
        "recipe": recipe.recipe,
        "python": str(recipe.python()),
        "base_url": f"{url}{recipe.api}",
        "model": recipe.model,
    }
    lines = ["[agents.me]", *(f"{name} = {json.dumps(value)}" for name, value in table.items()), more]
    for name, values in (("environment", environment), ("options", recipe.own_options())):
        lines += [f"[agents.me.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines)


@pytest.mark.parametrize("case", CASES)
def test_a_limit_of_an_hour_parks_the_state_after_one_call(
    hosting: Hosting, host_tools: DirectTools, tmp_path: Path, case: str
) -> None:
    with model_server(limited) as model, hosting(agents(case, model.url, tmp_path)) as hosted:
        run = hosted.start({})

        def parked() -> Any:
            return host_tools.call("read_workflow_control_plane", workflow_id=run)["states"]["A"].get("parked")

        wait_until(parked, LONG)
        assert parked()["count"] == 1
        if not case.startswith("claude"):  # its command makes calls of its own
            assert len(model.requests) == 1
            assert (parked()["kind"], parked()["seconds"]) == ("limit", HOUR_S)


@pytest.mark.parametrize("case", CASES)
def test_an_agent_that_does_not_wait_fails_by_name(hosting: Hosting, tmp_path: Path, case: str) -> None:
    with model_server(limited) as model, hosting(agents(case, model.url, tmp_path, 'on_limit = "fail"')) as hosted:
        run = hosted.start({})
        wait_until(lambda: hosted.client.get(run).status == "failed", LONG)
        assert str(hosted.state(run).last_error).startswith("DCF.AccountLimit")
