"""The command `dcf workflows stub`: serves deterministic tools. It imports the MCP SDK only when it runs."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.text import json_text
from dcf.data import find_file
from dcf.errors import InvalidArgument

_IN_COMPOSE: Final = ("stub-mcp", "stub-mcp:*")
"""The names by which other containers reach the stub, as in skills_src/registry.json."""


def stub(
    config: Annotated[
        Path | None, typer.Option(help="Stub configuration; default STUB_CONFIG, or the file that ships with dcf.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to bind.", envvar="STUB_MCP_HOST")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to bind, 0 for a free one.", envvar="STUB_MCP_PORT", min=0, max=65535)
    ] = 8765,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print {url} on standard output when ready.")] = False,
    leash: Annotated[bool, typer.Option(hidden=True, help="End when standard input ends.")] = False,
) -> None:
    """Serve the stub tools over MCP (Streamable HTTP), so that workflows with tools need no outside service.

    /mcp has all tools, called SERVER__TOOL; /mcp/SERVER those of one server by their own names. /healthz, /metrics
    and POST /metrics/reset are for tests and people. A changed configuration is loaded automatically; if it is
    invalid, the old one stays and /healthz says so.

    Example:  dcf workflows stub --port 8765
    """
    settings = opening.settings()
    path = find_file(config or settings.stub_config)
    if path is None:
        hint = "Make one with `dcf skills generate`, or name another with --config."
        raise InvalidArgument(f"There is no file {config or settings.stub_config}.", hint)
    if leash:
        from dcf.cli.child_processes import hold_leash

        hold_leash()
    from dcf.cli.processes import stub_serving

    def announce(ready: object) -> None:
        if as_json:
            sys.stdout.write(json_text(ready) + "\n")
            sys.stdout.flush()

    hosts = (*settings.mcp_allowed_hosts, *_IN_COMPOSE)
    changes = {"mcp_host": host, "mcp_port": port, "mcp_allowed_hosts": hosts}
    stub_serving.serve_stub(path, settings.model_copy(update=changes), seed, announce)
