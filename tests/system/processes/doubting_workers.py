"""Workers that get every notification twice, at once: python -m ... URL AGENT_ID=STATE...  One process serves all."""

import sys
import threading
from collections.abc import Mapping
from typing import Any

from dcf.tools.client import connect
from dcf.worker import FUNCTIONS, Granted, Worker
from tests.system.processes import hooked_order

assert hooked_order.HOOKS, "importing it registers the functions"


class TwiceTold(Worker):
    def handle(self, event: Mapping[str, Any], granted: Granted = None) -> None:
        start = threading.Barrier(2)

        def once_more(granted: Granted) -> None:
            start.wait()
            super(TwiceTold, self).handle(event, granted)

        told = [threading.Thread(target=once_more, args=[one]) for one in (granted, None)]
        for thread in told:
            thread.start()
        for thread in told:
            thread.join()


def main(url: str, assignments: list[str]) -> None:
    with connect(url) as tools:
        threads = []
        for agent_id, state in (text.split("=") for text in assignments):
            worker = TwiceTold(tools, agent_id, {state: FUNCTIONS[state]})
            threads.append(threading.Thread(target=worker.serve))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
