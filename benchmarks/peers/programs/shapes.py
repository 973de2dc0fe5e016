"""The graphs that are measured, for systems that need the order of steps."""

from dataclasses import dataclass
from functools import cache

WIDTH = 20
TAIL = 10


@dataclass(frozen=True, slots=True)
class Graph:
    """Steps by number. `leaves` are those after which nothing follows; the graph ends when all of them have ended."""

    children: tuple[tuple[int, ...], ...]
    upstreams: tuple[int, ...]

    @property
    def roots(self) -> list[int]:
        """Return the steps that may start at once."""
        return [node for node, waits_for in enumerate(self.upstreams) if not waits_for]

    @property
    def leaves(self) -> int:
        """Return how many steps nothing follows."""
        return sum(not following for following in self.children)

    def parents(self) -> list[list[int]]:
        """Return what each step waits for."""
        parents: list[list[int]] = [[] for _ in self.children]
        for node, following in enumerate(self.children):
            for child in following:
                parents[child].append(node)
        return parents


@cache
def graph(shape: str, size: int) -> Graph:
    """Return a chain of `size` steps, `size` diamonds of 1-20-1 and a chain of 10, or `size` steps side by side."""
    if shape == "map":
        return _graph([[] for _ in range(size)])
    if shape == "chain":
        return _graph([[node + 1] if node + 1 < size else [] for node in range(size)])
    children: list[list[int]] = []
    for _ in range(size):
        first = len(children)
        last = first + WIDTH + 1
        children += [list(range(first + 1, last)), *([last] for _ in range(WIDTH)), [last + 1]]
    end = len(children) + TAIL
    children += [[node + 1] if node + 1 < end else [] for node in range(len(children), end)]
    return _graph(children)


def steps(shape: str, size: int) -> int:
    """Return how many steps there are."""
    return size * (WIDTH + 2) + TAIL if shape == "dag" else size


def _graph(children: list[list[int]]) -> Graph:
    upstreams = [0] * len(children)
    for following in children:
        for child in following:
            upstreams[child] += 1
    return Graph(tuple(map(tuple, children)), tuple(upstreams))
