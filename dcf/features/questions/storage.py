"""How the notes and questions of a run are kept: in one document."""

from typing import Final

from dcf.features.questions.model import TALK, Questions, read_talk, write_talk
from dcf.store.extensions import PartRow
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.reading import document_of_run
from dcf.store.transaction.writing import Packet
from dcf.values.json_text import dump_bytes


def _write(packet: Packet, run: RunKeys, talk: Questions) -> None:
    packet.documents[run.talk] = dump_bytes(write_talk(talk))


ROW: Final = PartRow(part=TALK, ask=document_of_run("talk", read_talk), write=_write)
