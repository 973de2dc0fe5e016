"""The figures of a measurement: medians, and ratios to a peer within the same round. Pure; reads what `rounds` kept."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.peers.turns import Sample


@dataclass(frozen=True, slots=True)
class Case:
    """A case that is measured: a shape, the number of workers, and the concurrency of each."""

    shape: str
    workers: int = 1
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class Figures:
    """All samples, by round."""

    rounds: Sequence[Sequence[Sample]]

    def of(self, system: str, case: Case) -> list[Sample]:
        """Return the samples of a system in a case."""
        return [sample for samples in self.rounds for sample in _of(samples, system, case)]

    def rate(self, system: str, case: Case) -> float | None:
        """Return the median of the steps a second, from the submission to the end."""
        return _median(map(whole_rate, self.of(system, case)))

    def per_step(self, system: str, case: Case, subject: Callable[[Sample], float]) -> float | None:
        """Return the median of something for each step."""
        return _median(subject(sample) / sample.steps for sample in self.of(system, case))

    def ratio(self, ours: str, peer: str, case: Case, rate: Callable[[Sample], float]) -> float | None:
        """Return how much faster ours is: the median over the rounds of what it was in each."""
        values = []
        for samples in self.rounds:
            mine, theirs = (_median(map(rate, _of(samples, name, case))) for name in (ours, peer))
            if mine and theirs:
                values.append(mine / theirs)
        return _median(values)

    def gain(self, system: str, shape: str, workers: int) -> float | None:
        """Return the speed of this number of workers against one: the median over the rounds."""
        values = []
        for samples in self.rounds:
            many, item = (_median(map(whole_rate, _of(samples, system, Case(shape, count)))) for count in (workers, 1))
            if many and item:
                values.append(many / item)
        return _median(values)


def cpu_of_all(sample: Sample) -> float:
    """Return the milliseconds of CPU of workers and servers, Redis apart."""
    return 1000 * (sample.cpu_workers + sample.cpu_servers)


def _of(samples: Iterable[Sample], system: str, case: Case) -> list[Sample]:
    expected = (system, case.shape, case.workers, case.concurrency)
    return [
        sample for sample in samples if (sample.system, sample.shape, sample.workers, sample.concurrency) == expected
    ]


def whole_rate(sample: Sample) -> float:
    """Return the steps a second from the submission to the end."""
    return sample.steps / sample.seconds


def rate_after_submission(sample: Sample) -> float:
    """Return the steps a second after the call that submitted the run; some may have been done before."""
    return sample.steps / (sample.seconds - sample.submitting)


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None
