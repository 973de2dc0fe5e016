"""A worker that dies between writing its result and telling the next: python -m ... URL AGENT_ID STATE."""

import os
import signal
import sys
from typing import Any

from dcf.tools.client import ToolClient, connect
from dcf.worker import FUNCTIONS, Worker
from tests.processes import hooked_order

assert hooked_order.HOOKS, "importing it registers the functions"


class DiesBeforeNotifying:
    def __init__(self, tools: ToolClient) -> None:
        self._tools = tools

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        if tool == "notify_next_worker_agent":
            os.kill(os.getpid(), signal.SIGKILL)
        return self._tools.call(tool, **arguments)


if __name__ == "__main__":
    url, agent_id, state = sys.argv[1:]
    with connect(url) as tools:
        Worker(DiesBeforeNotifying(tools), agent_id, {state: FUNCTIONS[state]}).serve()
