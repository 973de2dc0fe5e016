"""The command `dcf agents local`: the MCP server that an agent's client starts on the agent's machine."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from dcf.cli import exit_codes, opening
from dcf.cli.arguments import Server
from dcf.cli.processes.models import make_models_at_first_use
from dcf.cli.text import json_text


def local(
    server: Server = None,
    key: Annotated[
        str | None, typer.Option(help="API key; better in DCF_API_KEY, which no list of processes shows.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="The boundary: a call works in it, or in a directory below it; default: the client's roots."),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Tools that the server shall list: worker, member, ...")] = None,
    allow_command: Annotated[
        list[str] | None,
        typer.Option(metavar="TEMPLATE", help="A command of gates that may run here: 'pytest -q {path}'; repeatable."),
    ] = None,
    allow_file: Annotated[
        Path | None, typer.Option(help="File with such templates, one a line; outside every repository it is for.")
    ] = None,
    upload_files: Annotated[
        bool, typer.Option("--upload-files", help="Keep the files that results name as artifacts.")
    ] = False,
    deadline: Annotated[
        float, typer.Option(help="Seconds for which a call is repeated while the server is away.", min=0, max=600)
    ] = 30,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the server answers, and what may be done here.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --check: print that as JSON.")] = False,
) -> None:
    """Serve an agent on this machine: the tools of a dcf server, and what needs the disk.

    It runs on standard input and output, started by Claude Code, Cursor or any MCP client. In addition to the server's
    tools it has local_worktree, local_changes, local_branch, local_files and local_gates; files that a result names
    are hashed. No command of a gate runs here unless a person allowed it: every caller that may plan then executes
    code here. That one passed is reported with DCF_HELPER_KEY, a key with the scope attest that the agent does not
    have. docs/agents/local-agents.md says more.
    """
    make_models_at_first_use()
    import anyio

    from dcf.local.command_templates import allowed_by
    from dcf.local.commands import end_all
    from dcf.local.deepwork.client_session import ClientSession
    from dcf.local.proxy import LocalServer, looked_at, serve
    from dcf.local.upstream import Upstream
    from dcf.local.working_root import WorkingRoot

    settings = opening.settings()
    configured_key = None if settings.api_key is None else settings.api_key.get_secret_value()
    allowed = allowed_by(allow_command or (), allow_file)
    upstream = Upstream(server or settings.server_url, key or configured_key, deadline, profile)
    own = settings.helper_key
    helper = None if own is None else Upstream(upstream.url, own.get_secret_value(), deadline)
    client = ClientSession(settings.data_dir / "deepwork")
    local_server = LocalServer(upstream, WorkingRoot(root), allowed, upload=upload_files, helper=helper, client=client)
    if check or as_json:
        report = anyio.run(looked_at, local_server)
        typer.echo(json_text(report) if as_json else "\n".join(f"{name}: {value}" for name, value in report.items()))
        raise typer.Exit(exit_codes.OK if report["server_error"] is None else exit_codes.UNAVAILABLE)

    def end(number: int, _: object) -> None:
        end_all(lambda: os._exit(128 + number))  # a thread waits for standard input, which cannot be interrupted

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, end)
    anyio.run(serve, local_server)
