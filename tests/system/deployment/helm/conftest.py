"""Renders the chart."""

import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT
from tests.system.deployment.helm.program import installed

CHART = ROOT / "deploy" / "helm" / "dcf"

Values = dict[str, Any]
Helm = Callable[..., subprocess.CompletedProcess[str]]
Render = Callable[[Values], list[dict[str, Any]]]

SMALLEST: Values = {"redis": {"secret": "dcf-redis"}}

FULL: Values = {
    "image": {"repository": "registry.example/dcf", "digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "pull"}],
    "redis": {"secret": "dcf-redis", "key": "address", "authority": "redis-authority"},
    "server": {"host": "dcf.example", "replicas": 3, "metrics": True, "env": {"DCF_WAIT_REPLICAS": "1"}},
    "page": {"host": "page.example", "actions": True},
    "workers": [
        {
            "name": "pricing",
            "agent": "pricing-1",
            "functions": "pricing.py",
            "secret": "pricing-key",
            "configMap": "pricing-code",
            "replicas": 2,
            "concurrency": 4,
        },
        {
            "name": "mail",
            "agent": "mail-1",
            "functions": "shop.mail",
            "secret": "mail-key",
            "image": "shop:1",
            "grace": 90,
        },
    ],
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}, "tlsSecret": "certificate"},
}


@pytest.fixture(scope="session")
def helm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Runs Helm on the chart with values."""
    program, place = installed(request.config), tmp_path_factory.mktemp("helm")

    def run(command: list[str], values: Values) -> subprocess.CompletedProcess[str]:
        path = place / "values.yaml"
        path.write_text(yaml.safe_dump(values), "utf-8")
        words = [str(program), *command, str(CHART), "-f", str(path)]
        environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)

    return run


@pytest.fixture(scope="session")
def render(helm: Helm) -> Render:
    """Renders the chart as the release `shop` in the namespace `agents`."""

    def run(values: Values) -> list[dict[str, Any]]:
        done = helm(["template", "shop", "--namespace", "agents"], values)
        assert done.returncode == 0, done.stderr
        return [item for item in yaml.safe_load_all(done.stdout) if item]

    return run


def named(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (match,) = [item for item in objects if (item["kind"], item["metadata"]["name"]) == (kind, name)]
    return match


def container(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (program,) = named(objects, "Deployment", name)["spec"]["template"]["spec"]["containers"]
    value: dict[str, Any] = program
    return value
