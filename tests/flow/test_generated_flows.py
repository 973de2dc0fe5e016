"""Generated flows give the values of Python, or are refused: another value is never allowed."""

import os
import random
from pathlib import Path
from typing import Any

from dcf.flow.compiling import compile_flow
from dcf.flow.refusals import InvalidFlow
from tests.flow.agreement import as_machine, as_python, load, same
from tests.flow.generator import program_of

COUNT = int(os.environ.get("DCF_TEST_FLOWS", "25"))
"""Programs that are generated; a proof of the whole subset takes 2,000 (CONTRIBUTING.md)."""

FIRST = int(os.environ.get("DCF_TEST_FLOWS_FROM", "0"))


def inputs_of(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "p": chance.randint(-3, 14),
            "s": chance.choice(["", "a", "hello", "a,b", " x "]),
            "xs": [chance.randint(-2, 9) for _ in range(chance.randint(0, 3))],
            "its": [item_of(chance) for _ in range(chance.randint(0, 2))],
            "d": chance.choice([None, 0, "", [], {}, [0], {"k": 1}, "x", 2]),
        }
        for _ in range(3)
    ]


def item_of(chance: random.Random) -> dict[str, Any]:
    tags = ["t"] * chance.randint(0, 2)
    return {"name": chance.choice("ab"), "n": chance.randint(0, 5), "tags": tags, "sub": chance.choice([None, 4])}


def test_a_generated_flow_does_what_python_does_or_is_refused(tmp_path: Path) -> None:
    compiled_count = 0
    for seed in range(FIRST, FIRST + COUNT):
        path = tmp_path / f"generated_{seed}.py"
        path.write_text(program_of(seed), "utf-8")
        module = load(path)
        try:
            compiled = compile_flow(module.main)
        except InvalidFlow:
            continue
        compiled_count += 1
        for run_input in inputs_of(seed):
            outcome, got = as_python(module, run_input), as_machine(compiled, run_input)
            agrees = same(outcome.value, got.value) and (outcome.error, outcome.cause) == (got.error, got.cause)
            assert agrees, (seed, run_input, outcome, got)
            assert outcome.error is not None or outcome.calls == got.calls, (seed, run_input, outcome, got)
    assert compiled_count > COUNT // 5
