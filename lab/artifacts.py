"""Artifacts that are put while answers are lost and servers are killed: in Redis, in a store, whole and in parts."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dcf.store.keys import table as keys
from lab.case_rules import a_put_artifact_is_whole, bytes_of_artifacts_are_counted
from lab.extras import Calls, Errands

INLINE: Final = 1024
"""Bytes of an artifact that these servers keep in Redis."""

_SIZES: Final = (700, 3_000, 5_000)
_WORKFLOW: Final = {"StartAt": "Work", "States": {"Work": {"Type": "Task", "End": True}}}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz \n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PutArtifact:
    """The outcome of an artifact: how the server answered its put, and the content that is read."""

    name: str
    put: str
    read: str
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptArtifacts:
    """The outcomes of the artifacts of a run. `held` is what the key's quota counts, `spare` the possible excess.

    A process that dies while it keeps something leaves it counted.
    """

    artifacts: tuple[PutArtifact, ...]
    put_bytes: int
    listed_bytes: int
    held: int
    spare: int


class Artifacts(Errands[KeptArtifacts]):
    """A caller puts artifacts, each until it is answered, and reads them."""

    rules = (a_put_artifact_is_whole, bytes_of_artifacts_are_counted)

    def errand(self, seed: int) -> KeptArtifacts:
        """Put artifacts into a run, and look what is there."""
        run, luck = f"lab-put-{seed}", random.Random(f"artifacts {seed}")
        with self.calls() as calls:
            wish = {"workflow_id": run, "agents_map_json": {"Work": "ann"}}
            calls.surely("create_workflow_control_plane", workflow_json=_WORKFLOW, **wish)
            texts = {f"{size}.txt": "".join(luck.choices(_LETTERS, k=size)) for size in _SIZES}
            putting = _Putting(calls, run)
            codes = {name: putting.whole(name, text) for name, text in texts.items()}
            texts["parts.txt"] = "".join(luck.choices(_LETTERS, k=4_000))
            codes["parts.txt"] = putting.parts("parts.txt", texts["parts.txt"])
            artifacts = tuple(self.read(calls, run, name, text, codes[name]) for name, text in texts.items())
            listed = calls.surely("list_artifacts", workflow_id=run)
        return KeptArtifacts(
            artifacts=artifacts,
            put_bytes=sum(map(len, texts.values())),
            listed_bytes=listed["total_bytes"],
            held=int(self.kind.client().hget(keys.quota(calls.key_id, "artifacts"), "") or 0),
            spare=putting.in_doubt,
        )

    def read(self, calls: Calls, run: str, name: str, text: str, put: str) -> PutArtifact:
        """Read an artifact and compare it."""
        surely = calls.surely("get_artifact", workflow_id=run, artifact_id=name, length=1_000_000, encoding="text")
        return PutArtifact(name=name, put=put, read=surely["code"], is_whole=surely.get("content") == text)


@dataclass(slots=True)
class _Putting:
    """Puts artifacts into a run; `in_doubt` are the bytes of calls without an answer."""

    calls: Calls
    run: str
    in_doubt: int = 0

    def whole(self, name: str, text: str) -> str:
        """Put an artifact in one piece, twice; the code of the second answer."""
        answers = [self._put(name, content=text) for _ in range(2)]
        return answers[-1]

    def parts(self, name: str, text: str) -> str:
        """Put an artifact in two parts."""
        halves = list(enumerate(_halves(text), start=1))
        answers = [self._put(name, content=half, part=number, of=len(halves)) for number, half in halves]
        return answers[-1]

    def _put(self, name: str, *, content: str, **more: Any) -> str:
        wish: Mapping[str, Any] = {
            "workflow_id": self.run,
            "name": name,
            "artifact_id": name,
            "content": content,
            **more,
        }
        answer = self.calls.once("put_artifact", **wish)
        if answer is None:
            self.in_doubt += len(content)
            answer = self.calls.surely("put_artifact", **wish)
        return str(answer["code"])


def _halves(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield from (text[:middle], text[middle:])
