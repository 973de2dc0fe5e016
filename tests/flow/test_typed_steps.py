"""Dates, enums and literals: text in the values of a flow, themselves in the functions of its steps."""

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

import pytest

from dcf import Rejected, flow, human, sleep_until, task, testing
from dcf.errors import InvalidArgument
from dcf.flow.compiling import compile_flow


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Parcel:
    size: Size
    way: Literal["air", "sea"]
    due: datetime


@task
def pack(day: date, size: Size = Size.SMALL) -> Parcel:
    return Parcel(size, "air" if day.year > 2025 else "sea", datetime(day.year, day.month, day.day + 1, tzinfo=UTC))


@task
def weekday(day: date, size: Size) -> str:
    return f"{day:%A} {size.name}"


@flow
def send(day: date, level: int, size: Size = Size.LARGE) -> str:
    parcel = pack(day, size)
    sleep_until("2026-01-01T00:00:00Z")
    if level == Level.HIGH and parcel.way in ("air", "rail"):
        return Size.SMALL
    match parcel.size:
        case Size.SMALL:
            return "no"
        case Size.LARGE:
            return weekday(day, parcel.size)
    return "never"


def run(run_input: dict[str, Any]) -> Any:
    return testing.run(send, run_input).output


def test_dates_and_enums_are_text_in_the_flow_and_values_in_its_functions() -> None:
    assert run({"day": "2026-03-02", "level": 1}) == "Monday LARGE"
    assert run({"day": "2026-03-02", "level": 3}) == "small"
    assert run({"day": "2025-03-02", "level": 3, "size": "small"}) == "no"


def test_the_input_of_a_flow_may_be_given_as_dates_and_enums() -> None:
    assert send.input(date(2026, 3, 2), level=1, size=Size.SMALL) == {"day": "2026-03-02", "level": 1, "size": "small"}


def test_the_schemas_of_a_flow_say_what_is_text() -> None:
    document = compile_flow(send).document
    assert document["workflow_input_schema"] == {
        "type": "object",
        "properties": {
            "day": {"type": "string"},
            "level": {"type": "integer"},
            "size": {"enum": ["small", "large"]},
        },
        "required": ["day", "level"],
    }


@dataclass
class Part:
    amount: float


@task
def pay(amount: float, by: str | None) -> str:
    return f"{amount:.2f} by {by}"


@flow
def refund() -> str:
    answer = human("Pay in part?", to=["alice"], choices=["partly", "reject"], output=Part, name="Approve")
    if answer.answer is None:
        raise Rejected("nothing is paid")
    return pay(answer.answer.amount, answer.answered_by)


def test_the_answer_of_a_person_has_the_type_that_the_flow_names() -> None:
    schema = compile_flow(refund).document["States"]["Approve"]["Arguments"]["schema"]
    assert schema["properties"] == {"amount": {"type": "number"}}
    paid = testing.run(refund, answers={"Approve": {"choice": "partly", "answer": {"amount": 3.5}}})
    assert paid.output == "3.50 by alice"
    assert testing.run(refund, answers={"Approve": {"choice": "reject"}}).error == "DCF.Rejected"


def test_an_answer_of_another_form_is_refused_when_it_is_given() -> None:
    for answer in ({}, {"answer": {"amount": "3"}}):
        with pytest.raises(InvalidArgument, match="invalid_answer"):
            testing.run(refund, answers={"Approve": {"choice": "partly", **answer}})
