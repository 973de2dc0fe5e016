"""How the book of a run is stored: in a stream."""

from typing import Final

from dcf.store.extensions import PartRow
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.first_packet import Asked, Replies, Understand
from dcf.store.transaction.writing import Packet
from tests.support.capabilities.stamps.model import BOOK


def book_key(run: RunKeys) -> str:
    """Return the key of the book."""
    return f"cp:wf:{run.workflow_id}:stamps"


def _ask(packet: Asked, run: RunKeys, _: tuple[str, ...]) -> Understand:
    command = ("XRANGE", book_key(run), "-", "+")
    packet.add(command)

    def understand(replies: Replies) -> tuple[str, ...]:
        return tuple(fields[1].decode() for _, fields in replies.of[command])

    return understand


def _write(packet: Packet, run: RunKeys, lines: tuple[str, ...]) -> None:
    packet.others += [("XADD", book_key(run), "*", "line", line) for line in lines]


ROW: Final = PartRow(part=BOOK, ask=_ask, write=_write, keys=lambda run: (book_key(run),))
