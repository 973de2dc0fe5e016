"""Dates, enums and literals: text in the values of a flow, themselves in the functions of its steps."""

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

from dcf import flow, sleep_until, task, testing
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
