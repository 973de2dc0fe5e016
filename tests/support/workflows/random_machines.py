"""Machines drawn from a seed: Parallel and Map in each other, with retries, catchers, waits, timeouts and loops.

Which task answers first can never matter: a task fails always, or fewer times than its Retry allows.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from tests.support.workflows.machines import Document
from tests.support.workflows.scopes import broken, case, catching, distributed, each, parallel, retrying, task, when

_ENDLESS = 400


def random_case(seed: int) -> Document:
    drawn = _Draw(luck=random.Random(seed))
    states = drawn.chain(depth=0)
    return case(f"random {seed}", states, {"seed": seed}, **drawn.mocks)


@dataclass(kw_only=True)
class _Draw:
    luck: random.Random
    mocks: dict[str, Any] = field(default_factory=dict)
    count: int = 0

    def name(self, word: str) -> str:
        self.count += 1
        return f"{word}{self.count}"

    def chain(self, depth: int) -> Document:
        """Up to three states one after the other, and what their catchers lead to."""
        states: Document = {}
        first = self.name("Begin")
        states[first] = {"Type": "Pass", "ResultPath": "$.seen", "Result": first}
        last = first
        for _ in range(self.luck.randint(1, 3 - depth // 2)):
            name, more = self.state(depth)
            states[last]["Next"] = name
            states |= more
            last = next(reversed(more))
        states[last]["End"] = True
        return states

    def state(self, depth: int) -> tuple[str, Document]:
        """A state without its Next, after which control is at the last of its accompanying states."""
        kinds = [self.work, self.unlucky, self.wait, self.slow]
        scopes = [self.branches, self.iterations, self.iterations, self.shaky, self.rounds, self.tolerant]
        return self.luck.choice(kinds if depth >= 3 else kinds[:2] + scopes)(depth)

    def work(self, depth: int) -> tuple[str, Document]:
        """A task that sometimes is busy, though never too often."""
        name = self.name("Work")
        if self.luck.random() < 0.4:
            self.mocks[name] = [broken("Busy")] * self.luck.randint(1, 3)
            return name, self.bare(name, task(Retry=retrying("Busy", MaxAttempts=4), ResultPath=f"$.{name}"))
        return name, self.bare(name, task())

    def unlucky(self, depth: int) -> tuple[str, Document]:
        """A task that always fails, and is caught."""
        name, after = self.name("Bad"), self.name("Mend")
        self.mocks[name] = [broken()] * _ENDLESS
        mend = {"Type": "Pass", "Result": name, "ResultPath": "$.mended"}
        return name, {name: task(after, Catch=catching(after, ResultPath="$.error")), after: mend}

    def slow(self, depth: int) -> tuple[str, Document]:
        """A task that never answers, in one of the ways that this is noticed; it is caught without a word of why."""
        name, after = self.name("Slow"), self.name("Mend")
        self.mocks[name] = [{"never": True}] * _ENDLESS
        limit = self.luck.choice(({"TimeoutSeconds": 7}, {"HeartbeatSeconds": 5}))
        handled = self.luck.choice((["States.Timeout"], ["States.ALL"]))
        catch = [{"ErrorEquals": handled, "ResultPath": "$.slow", "Next": after}]
        return name, {name: task(after, Catch=catch, **limit), after: {"Type": "Pass"}}

    def rounds(self, depth: int) -> tuple[str, Document]:
        """A loop: the same states are visited a few times, with other data each time."""
        name, add, keep = self.name("Begin"), self.name("Add"), self.name("Keep")
        more, after = self.name("More"), self.name("After")
        body, states = self.state(depth + 1)
        states[next(reversed(states))]["Next"] = add
        count = f"$.{name}"
        plus = {
            "Type": "Pass",
            "Parameters": {"n.$": f"States.MathAdd({count}, 1)"},
            "ResultPath": "$.sum",
            "Next": keep,
        }
        return name, {
            name: {"Type": "Pass", "Result": 0, "ResultPath": count, "Next": body},
            **states,
            add: plus,
            keep: {"Type": "Pass", "InputPath": "$.sum.n", "ResultPath": count, "Next": more},
            more: when(count, body, after, NumericLessThan=self.luck.randint(1, 3)),
            after: {"Type": "Pass"},
        }

    def tolerant(self, depth: int) -> tuple[str, Document]:
        """A distributed Map some of whose items fail, silently or by a task; sometimes one more than it bears."""
        name, way, bad, good, after = (self.name(word) for word in ("Bear", "Way", "Bad", "Good", "Mend"))
        states = {way: when("$", bad, good, NumericLessThan=2), good: task()}
        silent = self.luck.random() < 0.5
        states[bad] = {"Type": "Fail", "Error": "Broken"} if silent else task()
        self.mocks[bad] = [broken(cause=None)] * _ENDLESS
        limits = {"MaxConcurrency": self.luck.choice((0, 1, 2)), "ToleratedFailureCount": self.luck.choice((1, 2))}
        give = {"Type": "Pass", "Result": self.luck.sample(range(5), 5), "ResultPath": "$.items"}
        before, handled = self.name("Give"), catching(after, ResultPath="$.error")
        state = distributed(states, ItemsPath="$.items", ResultPath="$.borne", Catch=handled, Next=after, **limits)
        del state["End"]
        return before, {before: {**give, "Next": name}, name: state, after: {"Type": "Pass"}}

    def wait(self, depth: int) -> tuple[str, Document]:
        name = self.name("Wait")
        return name, {name: {"Type": "Wait", "Seconds": self.luck.randint(1, 40)}}

    def branches(self, depth: int) -> tuple[str, Document]:
        name = self.name("Both")
        inside = [self.chain(depth + 1) for _ in range(self.luck.randint(1, 3))]
        return name, self.bare(name, parallel(*inside, ResultPath="$.both"))

    def iterations(self, depth: int) -> tuple[str, Document]:
        name = self.name("Each")
        items = [{"item": number} for number in range(self.luck.choice((0, 1, 2, 5)))]
        give = {"Type": "Pass", "Result": items, "ResultPath": "$.items", "Next": name}
        limit: Document = {"MaxConcurrency": self.luck.choice((0, 1, 2, 3))}
        state = each(self.chain(depth + 1), ItemsPath="$.items", ResultPath="$.each", **limit)
        before = self.name("Give")
        return before, {before: give, **self.bare(name, state)}

    def shaky(self, depth: int) -> tuple[str, Document]:
        """A scope that breaks a few times, is retried as a whole, and caught if that is not enough."""
        name, bad, after = self.name("Shaky"), self.name("Crack"), self.name("Mend")
        self.mocks[bad] = [broken()] * self.luck.choice((1, 2, _ENDLESS))
        inside = [{bad: task()}, *(self.chain(depth + 1) for _ in range(self.luck.randint(1, 2)))]
        handled = {"Retry": retrying("Broken"), "Catch": catching(after, ResultPath="$.error")}
        mend = {"Type": "Pass", "Result": name, "ResultPath": "$.mended"}
        return name, {name: parallel(*inside, following=after, ResultPath="$.both", **handled), after: mend}

    @staticmethod
    def bare(name: str, state: Document) -> Document:
        """Without its End, which the chain decides."""
        return {name: {field: value for field, value in state.items() if field != "End"}}
