"""Commands of the chart, run here: their probes succeed, and the worker completes a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import dcf
from tests.system.deployment.helm.conftest import Render, container
from tests.system.processes.site import LONG, Site, finish, first_line, opened

FUNCTIONS = """
from dcf.worker import task

@task("Greet")
def greet(given):
    return {"greeting": f"Hello, {given['name']}!"}
"""
GREET = {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}
VALUES = {
    "redis": {"secret": "dcf-redis"},
    "workers": [{"name": "greeter", "agent": "greeter", "functions": "hello.py", "secret": "k", "configMap": "c"}],
}

pytestmark = pytest.mark.processes


@pytest.fixture
def site(short_directory: Path) -> Iterator[Site]:
    place = short_directory / "chart"
    place.mkdir()
    with opened(place) as objects:
        yield objects


def settings(program: dict[str, Any]) -> dict[str, str]:
    """Return the variables of the chart but for secrets. Redis is that of the site, and the address is local."""
    values = {variable["name"]: variable["value"] for variable in program["env"] if "value" in variable}
    hosts = {name: f"{value},127.0.0.1:*" for name, value in values.items() if name == "DCF_MCP_ALLOWED_HOSTS"}
    return {**values, **hosts, "DCF_AUTH": "keys"}


def probed(program: dict[str, Any], probe: str, url: str) -> int:
    """Ask as the kubelet does."""
    request = program[probe]["httpGet"]
    headers = {header["name"]: header["value"] for header in request["httpHeaders"]}
    with urlopen(
        Request(url.removesuffix("/mcp").split("/ui")[0] + request["path"], headers=headers), timeout=LONG
    ) as done:
        status: int = done.status
        return status


def test_server_page_and_worker_of_the_chart_carry_out_a_run(render: Render, site: Site) -> None:
    objects = render(VALUES)
    created, code = finish(
        site.dcf("keys", "add", "--any-agent", "--scope", "work", "--scope", "plan", "--json", DCF_AUTH="keys")
    )
    assert code == 0
    key = json.loads(created)["key"]

    server = container(objects, "shop-dcf")
    url = json.loads(first_line(site.dcf(*server["args"], "--port", "0", "--json", **settings(server))))["url"]
    assert [probed(server, name, url) for name in ("startupProbe", "livenessProbe", "readinessProbe")] == [200] * 3

    page = container(objects, "shop-dcf-page")
    started = site.dcf(*page["args"], "--port", "0", "--json", **settings(page))
    assert probed(page, "readinessProbe", json.loads(first_line(started))["url"]) == 200

    worker = container(objects, "shop-dcf-worker-greeter")
    functions = site.folder / "hello.py"
    functions.write_text(FUNCTIONS, "utf-8")
    arguments = [str(functions) if word == "/functions/hello.py" else word for word in worker["args"]]
    assert str(functions) in arguments
    assert settings(worker)["DCF_SERVER_URL"] == "http://shop-dcf:8337/mcp"
    first_line(site.dcf(*arguments, "--json", DCF_SERVER_URL=url, DCF_API_KEY=key))
    with dcf.connect(url, api_key=key) as client:
        run = client.start({"asl": GREET}, {"name": "Ada"}, agents="greeter")
        assert client.result(run.workflow_id) == {"greeting": "Hello, Ada!"}
