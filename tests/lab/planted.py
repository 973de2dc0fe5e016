"""Workers of dcf with a fault that a lab finds."""

from typing import Any

from dcf.store import cluster
from lab import worker


def split_reader(duty: worker.Duty) -> None:
    """It believes what one node says of several documents, while some have moved to another."""
    vars(cluster)["parts"] = lambda command: [command]
    vars(cluster)["joined"] = lambda _, replies: replies
    worker.main(duty)


def follower(duty: worker.Duty) -> None:
    """It follows ASK with each command of a transaction, wherever that leads."""
    vars(cluster)["in_transaction"] = lambda _: set()
    worker.main(duty)


def unwatched(duty: worker.Duty) -> None:
    """It does not watch what it decides on."""
    sent = cluster._Packets.exchange

    def exchange(self: Any, commands: Any, **more: Any) -> Any:
        kept = [("PING",) if command[0] == "WATCH" else command for command in commands]
        return sent(self, kept, **more)

    vars(cluster)["_Packets"] = type("_Packets", (cluster._Packets,), {"exchange": exchange})
    worker.main(duty)
