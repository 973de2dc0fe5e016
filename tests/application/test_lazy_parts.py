"""Parts of an object: each is made at its first request, and once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, RLock

from dcf.application.lazy_parts import part


class Whole:
    """An object with a part that is made from another part."""

    def __init__(self) -> None:
        self.making = RLock()
        self.made: list[str] = []

    @part
    def inner(self) -> object:
        """The inner part."""
        self.made.append("inner")
        return object()

    @part
    def outer(self) -> list[object]:
        """The outer part."""
        self.made.append("outer")
        return [self.inner]


def test_part_is_made_at_its_first_request_and_kept() -> None:
    whole = Whole()
    assert whole.made == []
    assert whole.outer is whole.outer
    assert whole.outer == [whole.inner]
    assert whole.made == ["outer", "inner"]
    assert Whole.inner.__doc__ == "The inner part."


def test_threads_that_request_a_part_together_get_the_same_one() -> None:
    whole, together = Whole(), Barrier(8)

    def request() -> list[object]:
        together.wait()
        return whole.outer

    with ThreadPoolExecutor(8) as threads:
        parts = [future.result() for future in [threads.submit(request) for _ in range(8)]]
    assert all(each is parts[0] for each in parts)
    assert whole.made == ["outer", "inner"]
