"""A command of a gate ends with the process of the helper that runs it."""

import os
import signal

import anyio
import anyio.to_thread
import pytest
from mcp.shared.exceptions import MCPError

from tests.features.gates.test_local_commands import CHECK, held
from tests.local.helper import Connecting
from tests.support.waiting import wait_until
from tests.system.local.conftest import Repository
from tests.system.processes.site import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

ALLOW = ("--allow-command", "./check.sh --all")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
async def test_a_command_does_not_outlive_a_helper_that_is_ended(
    starting: Connecting, repository: Repository, number: signal.Signals
) -> None:
    repository.write("check.sh", "#!/bin/sh\necho $$ $PPID > begun.part\nmv begun.part begun\nsleep 60\n").chmod(0o755)
    begun = repository / "begun"
    async with starting("--root", str(repository.root), *ALLOW) as agent, anyio.create_task_group() as tasks:

        async def complete() -> None:
            with pytest.raises(MCPError):
                await agent.call("update_workflow_control_plane", **await held(agent, CHECK))

        tasks.start_soon(complete)
        await anyio.to_thread.run_sync(wait_until, begun.exists)
        command, helper = map(int, begun.read_text().split())
        os.kill(helper, number)
        await anyio.to_thread.run_sync(wait_until, lambda: not is_alive(command))
