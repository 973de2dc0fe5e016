"""The files of a deployment, as data."""

import shlex
from typing import Any

import yaml

from tests.support.paths import ROOT

COMPOSE = ROOT / "docker-compose.yml"


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text("utf-8"))
    return document


def services() -> dict[str, Any]:
    services: dict[str, Any] = compose()["services"]
    return services


def dockerfile() -> list[tuple[str, str]]:
    """Its instructions with what they say, in order."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def last_stage() -> list[tuple[str, str]]:
    """The instructions that make the image; earlier stages leave only what it copies."""
    instructions = dockerfile()
    begins = max(place for place, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[begins:]


def image_environment() -> dict[str, str]:
    """The variables that the Dockerfile sets in the image."""
    pairs = (word.partition("=") for name, rest in last_stage() if name == "ENV" for word in shlex.split(rest))
    return {name: value for name, _, value in pairs}


def without(variables: dict[str, str], name: str, *, empty: bool) -> dict[str, str]:
    """All of them but this one, which is empty or not there."""
    return {other: value for other, value in variables.items() if other != name} | ({name: ""} if empty else {})
