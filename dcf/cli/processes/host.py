"""The command `dcf host`: runs the agents of an agents file until it is told to end."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import Direct, Grace, LeaseTtl, Leash, LoadedFd, Server
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.hosting.agents_file import AgentsFile


def host(
    agents: Annotated[Path, typer.Argument(metavar="FILE", help="TOML file with the agents to run.")],
    server: Server = None,
    direct: Direct = False,
    lease_ttl: LeaseTtl = 30,
    grace: Grace = 20,
    check: Annotated[bool, typer.Option("--check", help="Only read the file and import the handlers.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print {agents}, then a line for what happens to each state.")
    ] = False,
    leash: Leash = False,
    loaded_fd: LoadedFd = None,
) -> None:
    """Run agents that have no server of their own: Python handlers, Claude Code, or an SDK with its model.

    The host reads their inboxes, renews their leases, gives each turn its work and tools, and sends the result. A
    turn that breaks is tried again; if the host is killed, the next host of the agents does its work again.

    FILE:  [agents.pricing-1] recipe = "openai-agents", model = "..."  or  handler = "file.py:function"

    Ctrl-C and SIGTERM let turns finish (--grace); a second one ends it at once.
    docs/agents/host-agents.md has every field.
    """
    if direct and server is not None:
        raise InvalidArgument("With --direct no server is called.", "Leave out --direct or --server.")
    from dcf.hosting.agents_file import read_agents_file

    if leash:
        from dcf.cli.child_processes import hold_leash

        hold_leash()
        grace = 0  # unfinished work is not waited for
    file = read_agents_file(agents)
    names = [agent.profile.name for agent in file.agents]
    _say(f"hosts {', '.join(names)}")
    options = (lease_ttl, grace, loaded_fd)
    _host(file, server, *options, direct=direct, check=check, as_json=as_json)


def _host(
    file: "AgentsFile",
    server: str | None,
    lease_ttl: int,
    grace: float,
    loaded_fd: int | None,
    *,
    direct: bool,
    check: bool,
    as_json: bool,
) -> None:
    from dcf.cli.child_processes import say_loaded
    from dcf.cli.processes.worker import tools_for
    from dcf.cli.running.work_report import WorkReport
    from dcf.cli.termination import serve_until_signal
    from dcf.cli.text import json_text
    from dcf.hosting.host import AgentHost, HostOptions

    settings = opening.settings()
    with tools_for(settings, server, direct=direct) as tools:
        reports: dict[str, WorkReport] = {}

        def report(name: str) -> WorkReport:
            reports[name] = WorkReport(name, as_json=as_json)
            return reports[name]

        agent_host = AgentHost(tools, file, HostOptions(lease_ttl_s=lease_ttl), report)
        try:
            agent_host.begin()
            say_loaded(loaded_fd)
            if as_json:
                typer.echo(json_text({"agents": sorted(reports)}))
                sys.stdout.flush()
            if check:
                return
            ending_signal = serve_until_signal(agent_host.serve)
            for report_of_agent in reports.values():
                report_of_agent.stopping(ending_signal.name, grace)
            for name, given_back in agent_host.drain(grace).items():
                reports[name].stopped(given_back)
        finally:
            agent_host.close()
    sys.exit(128 + ending_signal)


def _say(text: str) -> None:
    sys.stderr.write(f"dcf: {text}\n")
    sys.stderr.flush()
