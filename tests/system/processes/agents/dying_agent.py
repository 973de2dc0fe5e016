"""A worker that dies between its lease and its work: python -m ... URL RUN STATE. It prints its answers."""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tests.system.processes.agents.mailbox_agents import Exchange, Job, Worker

LEASE_S = 1


class DiesHoldingItsLease(Worker):
    def work(self, event: Mapping[str, Any], leased: Mapping[str, Any]) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


def tell(exchange: Exchange) -> None:
    sys.stdout.write(json.dumps(asdict(exchange)) + "\n")
    sys.stdout.flush()


def main(url: str, run: str, state: str) -> None:
    job = Job(url=url, run=run, state=state, note=tell, over=threading.Event())
    with job.hands(copy=0) as hands:
        agent_id = job.wait_for_agent_id(hands)
        worker = DiesHoldingItsLease(hands, agent_id, lease_ttl_s=LEASE_S)
        for event in hands.events(agent_id, lambda: True):
            worker.attend(event)


if __name__ == "__main__":
    main(*sys.argv[1:])
