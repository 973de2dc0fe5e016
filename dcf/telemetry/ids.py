"""The ids of a run's trace, which follow from the run's id alone. Pure.

Every process comes to the same ids without asking another, and a trace that is exported twice has the same ids twice.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

_TRACE_BYTES: Final = 16
_SPAN_BYTES: Final = 8
_SAMPLED: Final = "01"


@lru_cache(maxsize=1024)
def trace_id_of(workflow_id: str) -> int:
    """Return the id of the trace of a run."""
    return _hashed(_TRACE_BYTES, workflow_id)


def root_span_id_of(workflow_id: str) -> int:
    """Return the id of the span of the run as a whole."""
    return _hashed(_SPAN_BYTES, workflow_id)


def span_id_of(workflow_id: str, state: str, epoch: int, again: int = 0) -> int:
    """Return the id of the span of an attempt: the state's path, and the epoch of its lease or of its entering.

    `again` counts further visits of one epoch: a loop of states without workers repeats within one commit.
    """
    return _hashed(_SPAN_BYTES, workflow_id, state, str(epoch), *([str(again)] if again else []))


def traceparent(workflow_id: str, state: str | None = None, epoch: int = 0) -> str:
    """Return the W3C header that makes another span a child of an attempt; without a state, of the run."""
    span = root_span_id_of(workflow_id) if state is None else span_id_of(workflow_id, state, epoch)
    return f"00-{trace_id_of(workflow_id):032x}-{span:016x}-{_SAMPLED}"


def _hashed(size: int, *parts: str) -> int:
    """Hash the parts, each behind its length, so that no two lists of parts are the same text."""
    text = b"".join(b"%d:%s" % (len(part), part) for part in (part.encode() for part in parts))
    return int.from_bytes(blake2b(text, digest_size=size, person=b"dcf-trace").digest()) or 1  # 0 is no id
