"""Stores the record of an agent's skills in Redis: to JSON and back, and its transactions. `holdings` decides."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from dcf.store.connection.documents import Documents, Verdict
from dcf.store.keys import table as keys
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.workforce.skills.holdings import Holding, Holdings

Answer = TypeVar("Answer")


class HoldingsDocuments:
    """The records of agents' skills, by agent id."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def read(self, agent_id: str) -> Holdings:
        """Return the record of an agent; an empty one if there is none."""
        document, _ = self._documents.read(keys.skills(agent_id))
        return _read(document)

    def transact(self, agent_id: str, decide: Callable[[Holdings, int], tuple[Holdings, Answer]]) -> Answer:
        """Change an agent's record in one transaction by a pure function of it and the server time in microseconds."""

        def judge(document: Json, now: int) -> Verdict[Answer]:
            before = _read(document)
            after, answer = decide(before, now)
            return Verdict(answer=answer, changed=after is not before, write=_write(after))

        return self._documents.transact(keys.skills(agent_id), judge)

    def forget(self, agent_id: str) -> None:
        """Delete the record of an agent that is gone."""
        self._documents.transact(
            keys.skills(agent_id), lambda document, _: Verdict(answer=None, changed=bool(document))
        )


_HOLDING: Final = RecordCodec(
    Holding,
    "name version sha256 phase token until text_pairs tools before detach warnings",
    named={"name": "skillName", "version": "skillVersion", "phase": "status", "text_pairs": "texts"},
    strict=True,
    added="tool_id foreign",
)


def _write(holdings: Holdings) -> Json:
    if not holdings.skills and holdings.mirror_id is None:
        return None
    return {
        "revision": holdings.revision,
        "mirrored": holdings.mirrored,
        "mirror_id": holdings.mirror_id,
        "skills": {name: _HOLDING.write(holding) for name, holding in holdings.skills.items()},
    }


def _read(document: Mapping[str, Json] | None) -> Holdings:
    if document is None:
        return Holdings()
    return Holdings(
        skills={name: _read_holding(name, document) for name, document in document["skills"].items()},
        revision=document["revision"],
        mirrored=document["mirrored"],
        mirror_id=document["mirror_id"],
    )


def _read_holding(manifest_id: str, document: Mapping[str, Json]) -> Holding:
    return _HOLDING.read(document, manifest_id=manifest_id, texts=dict(document["texts"]))
