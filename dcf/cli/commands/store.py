"""The command `dcf store move`: moves the documents of a Redis to another form. It uses Redis directly."""

from contextlib import ExitStack
from typing import Annotated, Literal

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.patience import patience
from dcf.cli.places.choice import stay_here
from dcf.cli.reading.views import say


def move(
    to: Annotated[
        Literal["json", "text"],
        typer.Option(help="json: RedisJSON documents. text: strings and hashes, which need no module."),
    ],
    as_json: JsonFlag = False,
) -> None:
    """Move all documents of this Redis to another form, while no process of dcf uses it.

    It is refused until 90 seconds after the last sign of life of a server, a worker or a clock. Until it has ended no
    process starts on this Redis. If it was stopped, run it again: it continues, or goes back with the other
    --to. Redis must have RedisJSON meanwhile: move before you change to a server without it.

    Example:  dcf store move --to text
    """
    from dcf.store.connection.opening import opened
    from dcf.store.forms.form import FORM_WORDS
    from dcf.store.forms.json_form import JSON_FORM
    from dcf.store.forms.move import DocumentMove
    from dcf.store.forms.text_form import TEXT_FORM

    stay_here()
    settings, form = opening.settings(), JSON_FORM if to == "json" else TEXT_FORM
    with ExitStack() as stack:
        with patience("waiting for Redis"):
            joined = opened(
                settings.redis_address,
                settings.data_dir,
                appendfsync=settings.appendfsync,
                maxmemory=settings.maxmemory,
                wait_replicas=settings.wait_replicas,
            )
            _, connections = stack.enter_context(joined)
        connections.follows_record = False
        moving = DocumentMove(connections, settings.json_prefixes)
        with patience("moving documents", lambda: moving.moved):
            moving.move(form)
    if as_json:
        print_json({"documents": to, "moved": moving.moved})
        return
    say(f"{moving.moved} documents were moved. This Redis keeps documents {FORM_WORDS[form.name]}.")
