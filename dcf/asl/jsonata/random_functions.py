"""The functions of JSONata that draw random values: $random and $uuid. Pure."""

from collections.abc import Callable
from typing import Any

from dcf.asl.jsonata.aws_functions import seeded_fraction, whole
from dcf.asl.surroundings import Chance
from dcf.values.json_text import Json


def lucky(chance: Chance) -> dict[str, Callable[..., Any]]:
    """Return the functions that draw random values from `chance`."""

    def random(seed: Json = None) -> float:
        return chance.fraction() if seed is None else seeded_fraction(whole(seed))

    def uuid() -> str:
        return chance.uuid()

    return {"random": random, "uuid": uuid}
