"""Stores the record of an agent's skills in Redis: to JSON and back, and its transactions. `holdings` decides."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeVar

from dcf.store.connection.documents import Documents, Verdict
from dcf.store.keys import table as keys
from dcf.values.json_text import Json
from dcf.workforce.skills.holdings import HeldTool, Holding, Holdings, SkillPhase

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


def _write(holdings: Holdings) -> Json:
    if not holdings.skills and holdings.mirror_id is None:
        return None
    return {
        "revision": holdings.revision,
        "mirrored": holdings.mirrored,
        "mirror_id": holdings.mirror_id,
        "skills": {name: _write_holding(one) for name, one in holdings.skills.items()},
    }


def _write_holding(one: Holding) -> dict[str, Json]:
    return {
        "skillName": one.name,
        "skillVersion": one.version,
        "sha256": one.sha256,
        "status": one.phase.value,
        "token": one.token,
        "until": one.until,
        "texts": [[label, block_id] for label, block_id in one.texts.items()],
        "tools": {name: asdict(tool) for name, tool in one.tools.items()},
        "before": None if one.before is None else list(one.before),
        "detach": list(one.detach),
        "warnings": list(one.warnings),
    }


def _read(document: Mapping[str, Json] | None) -> Holdings:
    if document is None:
        return Holdings()
    return Holdings(
        skills={name: _read_holding(name, one) for name, one in document["skills"].items()},
        revision=document["revision"],
        mirrored=document["mirrored"],
        mirror_id=document["mirror_id"],
    )


def _read_holding(manifest_id: str, found: Mapping[str, Json]) -> Holding:
    return Holding(
        manifest_id=manifest_id,
        name=found["skillName"],
        version=found["skillVersion"],
        sha256=found["sha256"],
        phase=SkillPhase(found["status"]),
        token=found["token"],
        until=found["until"],
        texts=dict(found["texts"]),
        tools={name: HeldTool(**tool) for name, tool in found["tools"].items()},
        before=None if found["before"] is None else tuple(found["before"]),
        detach=tuple(found["detach"]),
        warnings=tuple(found["warnings"]),
    )
