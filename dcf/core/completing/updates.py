"""The request of a lease holder to write a state. Data; `progress` decides on it."""

from dataclasses import field

from dcf.core.documents import receipts
from dcf.core.documents.model import Operation, Status
from dcf.core.documents.usage import UsageReport
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Update:
    """Request of a lease holder to write a state.

    `request_id` is the idempotency key of a partial write. A completion does not need it: a token completes once.
    `error` and `cause` are the ASL error of a failure. `claim_ttl_s` asks to lease next states for `owner` in the same
    transaction, at most `claim_most` of them; `only_entered`: of those that this write enters. `is_partial`: the write
    leaves the state running. `usage` is what the work used up. `key` is that of the receipt, by which a repetition is
    found; None if there is none. `caller` is who sent it, where the state has gates; `given` is what a holder sent in
    whose place this request is.
    """

    state: str
    token: str | None
    owner: str | None = None
    status: Status | None = None
    has_output: bool = False
    output: Json = None
    error: str | None = None
    cause: str | None = None
    attempts: int = 0
    set_started_at: bool = False
    set_finished_at: bool = False
    claim_ttl_s: int | None = None
    claim_most: int = 1
    only_entered: bool = False
    request_id: str | None = None
    usage: UsageReport | None = None
    caller: str | None = None
    given: "Update | None" = None
    is_partial: bool = field(init=False)
    key: str | None = field(init=False)

    def __post_init__(self) -> None:
        is_partial = self.status is None or self.status is Status.RUNNING
        object.__setattr__(self, "is_partial", is_partial)
        object.__setattr__(self, "key", _key(self.token, self.request_id, is_partial=is_partial))

    @property
    def needs_id(self) -> bool:
        """True for a partial write without a `request_id`: a repetition of it could not be recognised."""
        return self.request_id is None and self.is_partial

    @property
    def operation(self) -> Operation:
        """Operation that the receipt records."""
        if self.is_partial:
            return Operation.UPDATE
        return Operation.RELEASE if self.status is Status.PENDING else Operation.COMPLETE

    @property
    def content(self) -> str:
        """Fingerprint of the written content. It distinguishes a repetition from a new request with the same token."""
        output = [self.output] if self.has_output else []
        return content_fingerprint([self.status, output, self.error, self.cause, self.attempts])


def _key(token: str | None, request_id: str | None, *, is_partial: bool) -> str | None:
    if token is None:
        return None
    if not is_partial:
        return receipts.token_key(token)
    return None if request_id is None else receipts.write_key(token, request_id)
