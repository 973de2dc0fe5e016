"""A saga with compensation, `definitions/saga.json`: what was booked is cancelled if a later step fails."""

from typing import TypedDict

from dcf import flow, task


class Booking(TypedDict):
    kind: str
    code: str


class TripFailed(Exception):
    pass


class NoRoom(Exception):
    pass


@task(retry=2)
def book(kind: str, city: str, nights: int = 1) -> Booking:
    if kind == "hotel" and nights > 10:
        raise NoRoom(f"no room for {nights} nights")
    return {"kind": kind, "code": f"{kind[0]}-{city}"}


@task(retry=5)
def cancel(booking: Booking) -> str:
    return f"cancelled {booking['code']}"


@flow
def trip(city: str, nights: int) -> list[Booking]:
    """Book flight, hotel and car, or nothing."""
    booked: list[Booking] = []
    try:
        booked.append(book("flight", city))
        booked.append(book("hotel", city, nights))
        booked.append(book("car", city))
    except Exception as problem:
        for booking in reversed(booked):
            cancel(booking)
        raise TripFailed(f"{problem}; {len(booked)} bookings were cancelled") from problem
    return booked
