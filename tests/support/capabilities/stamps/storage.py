"""How the book of a run is kept: in a stream."""

from typing import Final

from dcf.store.extensions import PartRow
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.first_packet import Asked, Replies, Understand
from dcf.store.transaction.writing import Packet
from tests.support.capabilities.stamps.model import BOOK


def _key(run: RunKeys) -> str:
    return f"{run.meta}:stamps"


def _ask(asked: Asked, run: RunKeys, _: tuple[str, ...]) -> Understand:
    command = ("XRANGE", _key(run), "-", "+")
    asked.add(command)

    def understand(found: Replies) -> tuple[str, ...]:
        return tuple(fields[1].decode() for _, fields in found.of[command])

    return understand


def _write(packet: Packet, run: RunKeys, lines: tuple[str, ...]) -> None:
    packet.others += [("XADD", _key(run), "*", "line", line) for line in lines]


ROW: Final = PartRow(part=BOOK, ask=_ask, write=_write)
