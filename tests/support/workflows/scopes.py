"""Machines with Parallel and Map, and what their tasks answer, whose end does not depend on who is faster.

The form is that of the recorded cases: a task without a prepared answer hands its input back.
"""

from collections.abc import Iterable
from typing import Any

from tests.support.workflows.machines import Document

END: Document = {"Type": "Succeed"}


def task(following: str | None = None, **more: Any) -> Document:
    return {"Type": "Task", **({"Next": following} if following else {"End": True}), **more}


def machine(states: Document) -> Document:
    return {"StartAt": next(iter(states)), "States": states}


def parallel(*branches: Document, following: str | None = None, **more: Any) -> Document:
    """Branches are the states of each, the first of them first."""
    ahead: Document = {"Next": following} if following else {"End": True}
    return {"Type": "Parallel", "Branches": [machine(branch) for branch in branches], **ahead, **more}


def each(states: Document, following: str | None = None, **more: Any) -> Document:
    """A Map whose iterations run these states."""
    ahead: Document = {"Next": following} if following else {"End": True}
    return {"Type": "Map", "ItemProcessor": machine(states), **ahead, **more}


def distributed(states: Document, **more: Any) -> Document:
    mode = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    return {"Type": "Map", "ItemProcessor": {"ProcessorConfig": mode, **machine(states)}, "End": True, **more}


def retrying(*errors: str, **more: Any) -> list[Document]:
    return [{"ErrorEquals": list(errors), "IntervalSeconds": 2, "MaxAttempts": 3, **more}]


def catching(target: str, **more: Any) -> list[Document]:
    return [{"ErrorEquals": ["States.ALL"], "Next": target, **more}]


def when(variable: str, target: str, default: str, **test: Any) -> Document:
    return {"Type": "Choice", "Choices": [{"Variable": variable, **test, "Next": target}], "Default": default}


def broken(name: str | None = "Broken", **more: Any) -> Document:
    return {"error": name, "cause": "why", **more}


def echoes(inputs: Iterable[Any]) -> list[Document]:
    """Answers for just these inputs, so that no other answer serves them."""
    return [{"input": output, "output": output} for output in inputs]


def case(name: str, states: Document, run_input: Any = None, **mocks: Any) -> Document:
    texts = mocks.pop("texts", {})
    return {"id": name, "definition": machine(states), "input": run_input, "task_mocks": mocks, "texts": texts}


def _nested() -> Document:
    inner = parallel({"Deep": task()}, {"Wide": each({"Leaf": task()}, ItemsPath="$.leaves")})
    outer = parallel({"Rows": each({"Row": inner}, ItemsPath="$.rows")}, {"Alone": task()}, following="After")
    rows = [{"leaves": list(range(n)), "n": n} for n in (2, 0, 3)]
    return case("nested", {"Outer": outer, "After": task()}, {"rows": rows})


def _rounds() -> Document:
    """A Map entered three times, over more items and then fewer."""
    states = {
        "Round": each({"Score": task()}, "Check", ItemsPath="$.items", ResultPath="$.scores", MaxConcurrency=2),
        "Check": task("Again"),
        "Again": when("$.again", "Round", "Done", BooleanEquals=True),
        "Done": END,
    }
    rounds = [{"again": True, "items": [1, 2, 3, 4, 5]}, {"again": True, "items": [7]}, {"again": False}]
    return case("rounds", states, {"items": [1, 2]}, Check=[{"output": output} for output in rounds])


def _loops() -> Document:
    """A loop inside every iteration."""
    states = {"Count": task("More"), "More": when("$", "Count", "Enough", NumericLessThan=3), "Enough": END}
    counts = [{"input": n, "output": n + 1} for n in (0, 1, 1, 2, 2, 2)]
    return case("loops", {"Each": each(states)}, [0, 1, 2], Count=counts)


def _variables() -> Document:
    inner = {
        "Keep": {"Type": "Pass", "Assign": {"mine": "{% $states.input * $factor %}"}, "Next": "Use"},
        "Use": task(Arguments={"n": "{% $mine %}"}, Output="{% [$mine, $states.result.n] %}"),
    }
    states = {
        "Set": {"Type": "Pass", "Assign": {"factor": 10}, "Next": "Each"},
        "Each": each(inner, "Both"),
        "Both": parallel({"One": task(Output="{% $factor %}")}, {"Two": task(Output="{% $sum($states.result[0]) %}")}),
    }
    document = case("variables", states, [1, 2, 3])
    document["definition"]["QueryLanguage"] = "JSONata"
    return document


def _timed_out() -> Document:
    slow = {"Slow": task(TimeoutSeconds=5, Catch=catching("Late")), "Late": {"Type": "Pass", "Result": 0, "End": True}}
    return case("timed out", {"Both": parallel(slow, {"Quick": task()})}, 1, Slow=[{"never": True}])


def _from_file() -> Document:
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"},
        "Parameters": {"Bucket": "shelf", "Key": "rows.csv"},
    }
    state = distributed({"Line": task()}, ItemReader=reader, ItemBatcher={"MaxItemsPerBatch": 2})
    return case("from a file", {"Lines": state}, {}, texts={"shelf/rows.csv": "a,b\n1,2\n3,4\n5,6\n"})


def _reader_fails() -> Document:
    reader = {"Resource": "arn:aws:states:::s3:getObject", "Parameters": {"Bucket": "shelf", "Key": "gone.json"}}
    lines = distributed({"Line": task()}, ItemReader=reader, Catch=catching("Mend"), Retry=retrying("States.ALL"))
    return case("reader fails", {"Lines": lines, "Mend": {"Type": "Pass", "Result": "mended", "End": True}}, {})


def _shaped() -> Document:
    """Results selected and put into the input; a branch that ends early, and a branch that fails alone."""
    bad = {
        "Way": when("$.n", "Bad", "Fine", NumericGreaterThan=1),
        "Fine": task(),
        "Bad": {"Type": "Fail", "Error": "Bad"},
    }
    both = parallel({"One": task("Early"), "Early": END}, bad, following="Again", Catch=catching("Mend"))
    both |= {"ResultSelector": {"first.$": "$[0].n"}, "ResultPath": "$.both"}
    more = {"Type": "Pass", "Parameters": {"n": 2}, "Next": "Both"}
    again = when("$.both", "More", "Mend", IsPresent=True)
    return case("shaped", {"Both": both, "Again": again, "More": more, "Mend": task()}, {"n": 1})


def _waits() -> Document:
    pause = {"Pause": {"Type": "Wait", "Seconds": 30, "Next": "Then"}, "Then": task()}
    return case(
        "waits", {"Both": parallel(pause, {"Now": task("Soon"), "Soon": task()}, following="End"), "End": END}, 4
    )


def samples() -> list[Document]:
    pair = parallel({"First": task("Second"), "Second": task()}, {"Third": task()}, following="Last")
    tired = [broken("Busy", input=n) for n in (2, 2, 5)] + echoes(range(6))
    some_fail = [broken(input=1), broken(input=4), *echoes((0, 2, 3, 5))]
    failing = {"Bad": task(), "Good": task()}
    caught = parallel({"Bad": task()}, {"Good": task("Better"), "Better": task()}, Catch=catching("Mend"))
    again = parallel({"Bad": task()}, {"Good": task("Better"), "Better": task()}, Retry=retrying("Broken"))
    bearing = each({"Try": task()}, "After", ToleratedFailureCount=2, MaxConcurrency=2)
    share = distributed({"Try": task()}, ToleratedFailurePercentage=50, MaxConcurrency=3)
    batches = distributed({"Batch": task()}, ItemBatcher={"MaxItemsPerBatch": 3, "BatchInput": {"k": "v"}})
    silent = parallel({"Quiet": {"Type": "Pass", "Result": 1, "End": True}}, {"Loud": task()}, following="Last")
    selector = {"n.$": "$$.Map.Item.Value", "i.$": "$$.Map.Item.Index", "of.$": "$.name"}
    picked = each({"Take": task()}, ItemsPath="$.list", ItemSelector=selector)
    return [
        case("pair", {"Both": pair, "Last": task()}, {"x": 1}),
        case("lanes", {"Each": each({"Name": task("Size"), "Size": task()}, MaxConcurrency=2)}, list(range(7))),
        case("one lane", {"Each": each({"Name": task()}, MaxConcurrency=1)}, list("abcd")),
        case("items retried", {"Each": each({"Try": task(Retry=retrying("Busy"))})}, list(range(6)), Try=tired),
        case("caught", {"Both": caught, "Mend": task()}, 3, Bad=[broken()]),
        case("tried again", {"Both": again}, 3, Bad=[broken(), broken()]),
        case("fails", {"Both": parallel(*({name: state} for name, state in failing.items()))}, 3, Bad=[broken()]),
        case("bears", {"Each": bearing, "After": task()}, list(range(6)), Try=some_fail),
        case("bears too little", {"Each": bearing, "After": task()}, [7] * 6, Try=[broken()] * 3),
        case("bears a share", {"Each": share}, list(range(6)), Try=some_fail),
        case("bears too small a share", {"Each": share}, [7] * 6, Try=[broken()] * 4),
        case("batches", {"Each": batches}, list(range(8))),
        case("silent", {"Both": silent, "Last": task()}, 1),
        case("all silent", {"Each": each({"Quiet": {"Type": "Pass", "End": True}}) }, list(range(90))),
        case("none", {"Each": each({"Never": task()}, "After"), "After": task()}, []),
        case("selected", {"Each": picked}, {"list": ["p", "q"], "name": "N"}),
        _nested(),
        _rounds(),
        _loops(),
        _variables(),
        _timed_out(),
        _from_file(),
        _reader_fails(),
        _shaped(),
        _waits(),
    ]  # fmt: skip
