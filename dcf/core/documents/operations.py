"""Requests about a whole run (cancel it, pause it and so on): each has an id and a reason, and is applied once.

The answer is stored in the run's hash of receipts, in the transaction that applies the request: a repetition gets the
same answer, and another request with the same id is refused. Pure; what a request does is decided elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import wraps
from typing import Any, Final, TypeAlias, TypeVar, cast

from dcf.core.documents.decision import Decision, More, Snapshot, WriteSet
from dcf.core.documents.model import RunReceipt
from dcf.core.documents.refusals import RUN_REQUEST_ID_USED
from dcf.errors import InvalidArgument
from dcf.values.digest import content_fingerprint, fingerprint
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

LONGEST_REASON: Final = 2000
"""Most characters of a reason; it is kept in the run's history."""

LONGEST_REQUEST_ID: Final = 200


def check_reason(reason: str | None) -> str | None:
    """Return the reason; raise InvalidArgument if it is too long."""
    if reason is not None and len(reason) > LONGEST_REASON:
        raise InvalidArgument(f"The reason has more than {LONGEST_REASON} characters.", "Shorten the reason.")
    return reason


@record(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request about a run: the operation (`verb`, `arguments`), the reason, and the id that identifies a repetition.

    `key` is that of its receipt. `content` is the fingerprint of the operation. The reason is not part of it, since a
    model that repeats a request may word the reason differently.
    """

    verb: str
    request_id: str
    reason: str | None = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    key: str = field(init=False)
    content: str = field(init=False)

    def __post_init__(self) -> None:
        check_reason(self.reason)
        if not 0 < len(self.request_id) <= LONGEST_REQUEST_ID:
            raise InvalidArgument(
                f"The request_id has not between 1 and {LONGEST_REQUEST_ID} characters.", "Choose another `request_id`."
            )
        object.__setattr__(self, "key", fingerprint(self.request_id))
        object.__setattr__(self, "content", content_fingerprint([self.verb, dict(self.arguments)]))

    def told(self, **more: Json) -> dict[str, Json]:
        """Return the data of an event that this request causes: the reason, if there is one, and more."""
        return more if self.reason is None else {**more, "reason": self.reason}


@record(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """A request about a run took effect at `at`, now or at an earlier, identical request (`repeated`).

    `answer` is small, since it is stored: it says what was done, and as `hint` what to do now.
    """

    answer: Mapping[str, Json]
    at: int
    repeated: bool = False


RunDecision: TypeAlias = Decision[RunAnswer | Refusal | More]
D = TypeVar("D", bound=Callable[..., RunDecision])


def once(snapshot: Snapshot, request: RunRequest, decide: Callable[[], RunDecision]) -> RunDecision:
    """Return what `decide` decides, with the receipt of its answer, or the stored answer to the same request.

    The receipt must have been read (`ReadSet.run_receipts`). It is not watched: `decide` must change a document that
    is, or must answer the same each time.
    """
    run_receipt = snapshot.run_receipts.get(request.key)
    if run_receipt is not None:
        if run_receipt.content != request.content:
            return Decision(answer=RUN_REQUEST_ID_USED.refuse())
        return Decision(answer=RunAnswer(answer=run_receipt.answer, at=run_receipt.at, repeated=True))
    decision = decide()
    if not isinstance(decision.answer, RunAnswer):
        return decision
    receipt = RunReceipt(content=request.content, at=snapshot.now, answer=decision.answer.answer)
    changes = decision.changes or WriteSet()
    return replace(decision, changes=replace(changes, run_receipts={request.key: receipt}))


def decided_once(decide: D) -> D:
    """Have a function that decides on a snapshot and a request be called once for a request, as `once` says."""

    @wraps(decide)
    def decided(snapshot: Snapshot, request: RunRequest, *arguments: Any, **named: Any) -> RunDecision:
        return once(snapshot, request, lambda: decide(snapshot, request, *arguments, **named))

    return cast("D", decided)


_RECEIPT: Final = RecordCodec(RunReceipt, named={"content": "of"}, whole=True)
write_run_receipt: Final = _RECEIPT.write
read_run_receipt: Final[Callable[[Json], RunReceipt | None]] = _RECEIPT.read
"""Reads the stored receipt of a request about a run; None for anything else."""
