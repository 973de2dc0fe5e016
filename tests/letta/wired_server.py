"""`dcf serve` with agents on Letta. In the place of settings that choose the platform: see LETTA_* below."""

import os

import redis

import dcf.application
from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.cli.app import main
from dcf.settings import read_settings
from dcf.store import embedded
from dcf.store.agents import AgentRecords
from dcf.store.inbox import Inbox
from tests.letta.shared_deliveries import SharedDeliveries


def open_platform(_: Inbox, __: AgentRecords) -> LettaPlatform:
    """Make the platform that the environment describes."""
    redis_url = embedded.start(read_settings().data_dir).url
    options = LettaOptions(
        base_url=os.environ["LETTA_BASE_URL"],
        model=os.environ["LETTA_MODEL"],
        run_deadline_s=float(os.environ["LETTA_RUN_DEADLINE_S"]),
        mcp_servers={
            "dcf": {"name": "dcf", "transport": "streamable_http", "url": os.environ["DCF_SERVER_URL"]},
        },
    )
    return LettaPlatform(options, SharedDeliveries(redis.Redis.from_url(redis_url, protocol=2)))


if __name__ == "__main__":
    vars(dcf.application)["Mailbox"] = open_platform
    main()
