"""A worker that dies as soon as its result is written: python -m ... URL AGENT_ID STATE."""

import os
import signal
import sys
from typing import Any

from dcf.tools.calling.client import ToolClient, connect
from dcf.worker import FUNCTIONS, Worker
from tests.system.processes import hooked_order

assert hooked_order.HOOKS, "importing it registers the functions"


class DiesAfterWriting:
    def __init__(self, tools: ToolClient) -> None:
        self._tools = tools

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._tools.call(tool, **arguments)
        if tool == "update_workflow_control_plane":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


if __name__ == "__main__":
    url, agent_id, state = sys.argv[1:]
    with connect(url) as tools:
        Worker(DiesAfterWriting(tools), agent_id, {state: FUNCTIONS[state]}).serve()
