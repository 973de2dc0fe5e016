"""The command `dcf web`: the web page of a control plane, alone."""

from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import AllowActions, JsonFlag
from dcf.cli.processes.models import make_models_at_first_use
from dcf.cli.text import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping


def web(
    host: Annotated[str | None, typer.Option(help="Address to bind; default DCF_MCP_HOST or 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to bind, 0 for a free one; default 8337.", min=0, max=65535)
    ] = None,
    auth: Annotated[str | None, typer.Option(help="keys: log in with an API key; off: on loopback, without.")] = None,
    allow_actions: AllowActions = False,
    as_json: JsonFlag = False,
) -> None:
    """Serve the web page: runs, and each run's picture, states and events. It changes nothing without --allow-actions.

    --json prints {url} on standard output when it is ready.

    Example:  dcf web --auth off --port 8338
    """
    make_models_at_first_use()
    settings = opening.server_settings(host, port, auth=auth)
    from dcf.cli.processes import serve as serving

    def announce(ready: "Mapping[str, object]") -> None:
        if as_json:
            typer.echo(json_text(ready))

    serving.serve_web(settings, announce, may_act=allow_actions)
