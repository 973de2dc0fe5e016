"""How the units of a run that grows are kept, and its counts: in a stream of units, and one document."""

from typing import Final

from dcf.features.growing.counts import GROWTH, Growth, read_growth, write_growth
from dcf.features.growing.model import UNITS, Unit, read_unit, write_unit
from dcf.store.extensions import PartRow
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.first_packet import Asked, Replies, Understand
from dcf.store.transaction.reading import document_of_run
from dcf.store.transaction.writing import Packet
from dcf.values.json_text import dump, dump_bytes, load


def _write_growth(packet: Packet, run: RunKeys, growth: Growth) -> None:
    packet.documents[run.growth] = dump_bytes(write_growth(growth))


def _ask_units(packet: Asked, run: RunKeys, _: tuple[str, ...]) -> Understand:
    command = ("XRANGE", run.units, "-", "+")
    packet.add(command)

    def understand(replies: Replies) -> tuple[Unit, ...]:
        return tuple(read_unit(load(fields[1])) for _, fields in replies.of[command])

    return understand


def _write_units(packet: Packet, run: RunKeys, units: tuple[Unit, ...]) -> None:
    packet.others += [("XADD", run.units, "*", "unit", dump(write_unit(unit))) for unit in units]


ROWS: Final = (
    PartRow(part=GROWTH, ask=document_of_run("growth", read_growth), write=_write_growth),
    PartRow(part=UNITS, ask=_ask_units, write=_write_units),
)
