"""The offers of a capability to processes that carry out runs, and their installation. It must not decide."""

from collections.abc import Iterable

from dcf.runs.clock.duties import DUTIES, MakeDuty
from dcf.runs.loading import RUNS, GrownLoading
from dcf.runs.notifying.contents import NOTICES, NoticeContent
from dcf.store.extensions import LISTS, PARTS, PartRow, StateLists
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class RunOffer:
    """Parts of a run, lists across runs, contents of notifications and duties of the timer loop.

    `growing` loads the definitions of open runs; exactly one capability offers it.
    """

    parts: tuple[PartRow, ...] = ()
    lists: tuple[StateLists, ...] = ()
    notices: tuple[NoticeContent, ...] = ()
    duties: tuple[MakeDuty, ...] = ()
    growing: GrownLoading | None = None


def install(offers: Iterable[RunOffer]) -> None:
    """Fill the tables of the engine. Raise ValueError unless one capability loads open runs."""
    installed = tuple(offers)
    PARTS.install(row for offer in installed for row in offer.parts)
    LISTS.install(lists for offer in installed for lists in offer.lists)
    NOTICES.install(content for offer in installed for content in offer.notices)
    DUTIES.install(duty for offer in installed for duty in offer.duties)
    (growing,) = [offer.growing for offer in installed if offer.growing is not None]
    RUNS.install(growing=growing)
