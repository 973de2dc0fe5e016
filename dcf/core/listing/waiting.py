"""Places in the lists of what waits, across runs. Data only; `store/lists/waiting.py` goes through these lists."""

from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class WaitingPlace:
    """An entry of a list: since when it waits, by the server's time, and the state of a run that it names."""

    at: int
    entry: str

    @property
    def order(self) -> tuple[int, str]:
        """The order of lists: what waits longest comes first."""
        return self.at, self.entry
