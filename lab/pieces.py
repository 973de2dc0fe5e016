"""Pieces of workflows, drawn at random: Tasks that fail or never answer, Choices, loops, Parallels, Maps, nested.

Each piece knows how to play itself on a value, which gives the expectation without dcf.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from lab.expectation import BROKEN, BUSY, CHECKED, PEOPLE, Breaks, Expected, Piece, Play, States, Value, answer_of
from lab.outside_pieces import callback, child, forsaken, mail, signal

_OUTSIDE = 0.2
"""Share of the pieces that wait for something outside."""

_CHECKED = 0.6
"""Share of the plain Tasks that have an OutputSchema."""

_SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "minimum": 0}}}


def _retrier(error: str, most: int) -> list[dict[str, Any]]:
    return [{"ErrorEquals": [error], "IntervalSeconds": 1, "MaxAttempts": most, "BackoffRate": 1.0}]


def _catcher(target: str) -> list[dict[str, Any]]:
    return [{"ErrorEquals": ["States.ALL"], "Next": target}]


def _task(name: str) -> Play:
    """Play a Task that answers on its input."""

    def play(expected: Expected, scope: str, value: Value) -> Value:
        _saw(expected, scope + name, value)
        expected.done[scope + name] += 1
        return answer_of(name, value)[1]

    return play


def _saw(expected: Expected, path: str, document: Value) -> None:
    seen = expected.inputs.setdefault(path, [])
    if document not in seen:
        seen.append(document)


@dataclass(kw_only=True)
class Drawer:
    """Draws pieces; each state of a workflow gets a name of its own. `children` are workflows that its Tasks start."""

    luck: random.Random
    seed: int = 0
    count: int = 0
    children: list[dict[str, Any]] = field(default_factory=list)

    def name(self, word: str) -> str:
        """Return a new name that begins with this word."""
        self.count += 1
        return f"{word}_{self.count}"

    def chain(self, depth: int, length: int) -> Piece:
        """Pieces one after the other."""
        pieces = [self.piece(depth) for _ in range(length)]
        states: States = {}
        for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
            states |= piece.states
            if after is not None:
                states[piece.last] = states[piece.last] | {"Next": after.first}

        def play(expected: Expected, scope: str, value: Value) -> Value:
            for piece in pieces:
                value = piece.play(expected, scope, value)
            return value

        return Piece(states=states, first=pieces[0].first, last=pieces[-1].last, play=play)

    def piece(self, depth: int) -> Piece:
        """Return a piece of any kind; deep inside others only simple ones."""
        work, ways = (self.work,) * 3, (self.busy, self.caught, self.wait, self.fork, self.rounds, self.slow, self.ask)
        simple = (*work, *ways)
        if self.luck.random() < _OUTSIDE:
            return self.luck.choice((signal, signal, child, child, forsaken, callback, mail, mail))(self)
        scopes = (self.branches, self.iterations, self.iterations, self.shaky, self.cracked)
        kinds = simple if depth >= 2 else (*simple, *scopes)
        return self.luck.choice(kinds)(depth)

    def work(self, _: int = 0) -> Piece:
        """Return a task that succeeds; the output of some is checked with a schema."""
        is_checked = self.luck.random() < _CHECKED
        name = self.name(CHECKED if is_checked else "Work")
        state = {"Type": "Task"} | ({"OutputSchema": _SCHEMA, "Errors": [BROKEN]} if is_checked else {})
        return Piece(states={name: state}, first=name, last=name, play=_task(name))

    def busy(self, _: int) -> Piece:
        """A task that fails a few times, and is retried as many times."""
        times = self.luck.choice((1, 1, 2))
        name = self.name(f"Busy_{times}")
        parameters = {"tries.$": "$$.State.RetryCount", "n.$": "$.n"}
        state = {"Type": "Task", "Parameters": parameters, "Retry": _retrier(BUSY, times + 1)}

        def play(expected: Expected, scope: str, value: Value) -> Value:
            for tries in range(times):
                _saw(expected, scope + name, {"tries": tries, "n": value["n"]})
            return _task(name)(expected, scope, {"tries": times, "n": value["n"]})

        return Piece(states={name: state}, first=name, last=name, play=play)

    def caught(self, _: int) -> Piece:
        """A task that always fails, and is caught."""
        name, after = self.name("Bad"), self.name("Mend")
        states: States = {
            name: {"Type": "Task", "Catch": _catcher(after), "Next": after},
            after: {"Type": "Pass", "Result": {"n": 1}},
        }
        return Piece(states=states, first=name, last=after, play=_after_repair(name, after, {"n": 1}))

    def slow(self, _: int) -> Piece:
        """A task that never answers, in one of the ways that this is noticed."""
        name, after = self.name("Slow"), self.name("Mend")
        limit = self.luck.choice(({"TimeoutSeconds": 4}, {"TimeoutSeconds": 9, "HeartbeatSeconds": 3}))
        states: States = {
            name: {"Type": "Task", "Catch": _catcher(after), "Next": after, **limit},
            after: {"Type": "Pass", "Result": {"n": 2}},
        }
        return Piece(states=states, first=name, last=after, play=_after_repair(name, after, {"n": 2}))

    def wait(self, _: int) -> Piece:
        """Return a Wait of some seconds."""
        name = self.name("Wait")

        def play(expected: Expected, scope: str, value: Value) -> Value:
            expected.done[scope + name] += 1
            return value

        state = {"Type": "Wait", "Seconds": self.luck.choice((0, 1, 2, 5))}
        return Piece(states={name: state}, first=name, last=name, play=play)

    def ask(self, _: int) -> Piece:
        """Return a task for people; some are asked only after others have not answered in time."""
        name = self.name("Ask")
        at_once: dict[str, Any] = {"to": [*PEOPLE]}
        later: dict[str, Any] = {"to": "nobody", "escalate": {"after_s": 2, "to": [*PEOPLE]}}
        request = {**self.luck.choice((at_once, at_once, later)), "title": name}
        state = {
            "Type": "Task",
            "Resource": "dcf:human",
            "Parameters": {**request, "details.$": "$"},
            "ResultSelector": {"n.$": "$.answer.n"},
        }

        def play(expected: Expected, scope: str, details: Value) -> Value:
            expected.asked.setdefault(scope + name, []).append({**request, "details": details})
            expected.done[scope + name] += 1
            return answer_of(name, details)[1]

        return Piece(states={name: state}, first=name, last=name, play=play)

    def fork(self, depth: int) -> Piece:
        """A Choice between two ways, which meet again."""
        pick, join = self.name("Pick"), self.name("Join")
        ways = [self.work(depth) for _ in range(2)]
        states: States = {
            pick: {
                "Type": "Choice",
                "Choices": [{"Variable": "$.n", "NumericLessThan": 500_000, "Next": ways[0].first}],
                "Default": ways[1].first,
            },
            join: {"Type": "Pass"},
        }
        for way in ways:
            states[way.first] = way.states[way.first] | {"Next": join}

        def play(expected: Expected, scope: str, value: Value) -> Value:
            output = ways[0 if value["n"] < 500_000 else 1].play(expected, scope, value)
            expected.done[scope + join] += 1
            return output

        return Piece(states=states, first=pick, last=join, play=play)

    def rounds(self, _: int) -> Piece:
        """A loop: one task is visited a few times."""
        begin, turn, more, after = (self.name(word) for word in ("Begin", "Turn", "More", "After"))
        times = self.luck.choice((2, 3))
        states: States = {
            begin: {"Type": "Pass", "Parameters": {"n.$": "$.n", "round": 0}, "Next": turn},
            turn: {"Type": "Task", "Next": more},
            more: {
                "Type": "Choice",
                "Choices": [{"Variable": "$.round", "NumericLessThan": times, "Next": turn}],
                "Default": after,
            },
            after: {"Type": "Pass"},
        }

        def play(expected: Expected, scope: str, sent: Value) -> Value:
            value = {"n": sent["n"], "round": 0}
            expected.done[scope + begin] += 1
            for _ in range(times):
                value = _task(turn)(expected, scope, value)
            expected.done[scope + after] += 1
            return value

        return Piece(states=states, first=begin, last=after, play=play)

    def branches(self, depth: int) -> Piece:
        """A Parallel, and a task that folds its results into one."""
        name = self.name("Both")
        inside = [self.chain(depth + 1, self.luck.choice((1, 1, 2))) for _ in range(self.luck.choice((2, 2, 3)))]
        return self._folded(name, {"Type": "Parallel", "Branches": [_machine(item) for item in inside]}, inside)

    def _folded(self, name: str, state: dict[str, Any], inside: list[Piece]) -> Piece:
        fold = self.name("Fold")

        def play(expected: Expected, scope: str, value: Value) -> Value:
            results = [item.play(expected, f"{scope}{name}/{number}/", value) for number, item in enumerate(inside)]
            expected.done[scope + name] += 1
            return _task(fold)(expected, scope, results)

        states: States = {name: {**state, "Next": fold}, fold: {"Type": "Task"}}
        return Piece(states=states, first=name, last=fold, play=play)

    def iterations(self, depth: int) -> Piece:
        """A Map over copies of the value, and a task that folds its results into one."""
        give, name, fold = self.name("Give"), self.name("Each"), self.name("Fold")
        size = self.luck.choice((0, 1, 2, 3, 4))
        inside = self.chain(depth + 1, 1)
        items = f"States.Array({', '.join(['$.n'] * size)})"
        states: States = {
            give: {"Type": "Pass", "Parameters": {"items.$": items}, "Next": name},
            name: {
                "Type": "Map",
                "ItemsPath": "$.items",
                "ItemSelector": {"n.$": "$$.Map.Item.Value", "at.$": "$$.Map.Item.Index"},
                "MaxConcurrency": self.luck.choice((0, 1, 2)),
                "ItemProcessor": _machine(inside),
                "Next": fold,
            },
            fold: {"Type": "Task"},
        }

        def play(expected: Expected, scope: str, value: Value) -> Value:
            expected.done[scope + give] += 1
            results = [
                inside.play(expected, f"{scope}{name}/{number}/", {"n": value["n"], "at": number})
                for number in range(size)
            ]
            expected.done[scope + name] += 1
            return _task(fold)(expected, scope, results)

        return Piece(states=states, first=give, last=fold, play=play)

    def shaky(self, depth: int) -> Piece:
        """A Parallel of which one branch always breaks; it is caught."""
        name, after = self.name("Shaky"), self.name("Mend")
        bad = self.name("Bad")
        inside = [
            Piece(states={bad: {"Type": "Task"}}, first=bad, last=bad, play=_nothing),
            self.chain(depth + 1, 1),
        ]
        states: States = {
            name: {
                "Type": "Parallel",
                "Branches": [_machine(item) for item in inside],
                "Catch": _catcher(after),
                "Next": after,
            },
            after: {"Type": "Pass", "Result": {"n": 3}},
        }

        def play(expected: Expected, scope: str, value: Value) -> Value:
            expected.open_ended.add(scope + name)
            inside[1].play(expected, f"{scope}{name}/1/", value)
            _saw(expected, f"{scope}{name}/0/{bad}", value)
            expected.done[scope + after] += 1
            return {"n": 3}

        return Piece(states=states, first=name, last=after, play=play)

    def cracked(self, depth: int) -> Piece:
        """A Parallel of which one branch breaks once; the whole of it is retried."""
        name, crack, fold = self.name("Cracked"), self.name("Crack_1"), self.name("Fold")
        chain = self.chain(depth + 1, 1)
        piece = Piece(states={crack: {"Type": "Task"}}, first=crack, last=crack, play=_task(crack))
        states: States = {
            name: {
                "Type": "Parallel",
                "Parameters": {"tries.$": "$$.State.RetryCount", "n.$": "$.n"},
                "Branches": [_machine(piece), _machine(chain)],
                "Retry": _retrier(BUSY, 2),
                "Next": fold,
            },
            fold: {"Type": "Task"},
        }

        def play(expected: Expected, scope: str, value: Value) -> Value:
            expected.open_ended.add(scope + name)
            results: list[Value] = []
            for tries in range(2):
                seen = {"tries": tries, "n": value["n"]}
                _saw(expected, f"{scope}{name}/0/{crack}", seen)
                results = [answer_of(crack, seen)[1], chain.play(expected, f"{scope}{name}/1/", seen)]
            expected.done[scope + name] += 1
            return _task(fold)(expected, scope, results)

        return Piece(states=states, first=name, last=fold, play=play)

    def doomed(self, states: States, piece: Piece) -> Play:
        """Let the workflow fail at its end: in a Fail state, by a task, or by its own timeout."""
        last = self.name(self.luck.choice(("Bad", "Doom")))
        states[piece.last] = states[piece.last] | {"Next": last}
        doom = {"Type": "Fail", "Error": "Doomed", "Cause": "at its end"}
        states[last] = doom if last.startswith("Doom") else {"Type": "Task", "End": True}

        def play(expected: Expected, scope: str, sent: Value) -> Value:
            value = piece.play(expected, scope, sent)
            if last.startswith("Bad"):
                _saw(expected, last, value)
            raise Breaks(BROKEN if last.startswith("Bad") else "Doomed")

        return play


def _nothing(_: Expected, __: str, value: Value) -> Value:
    return value


def _after_repair(name: str, after: str, result: Value) -> Play:
    """Play a task that fails and what its catcher leads to."""

    def play(expected: Expected, scope: str, value: Value) -> Value:
        _saw(expected, scope + name, value)
        expected.done[scope + after] += 1
        return result

    return play


def _machine(piece: Piece) -> dict[str, Any]:
    return {
        "StartAt": piece.first,
        "States": {**piece.states, piece.last: piece.states[piece.last] | {"End": True}},
    }
