"""The chart: Helm accepts it, Kubernetes would, its pods have no rights, and its commands are those that dcf has."""

import re
from typing import Any

import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

from dcf.cli.app import app
from dcf.settings.process import VARIABLES as SETTINGS
from tests.deployment.test_install import PROJECT
from tests.system.deployment.helm.conftest import CHART, FULL, SMALLEST, Helm, Render, Values, container, named

OLDEST, NEWEST = "1.27", kubernetes_validate.latest_version()
EITHER = pytest.mark.parametrize("values", [SMALLEST, FULL], ids=["smallest", "full"])


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in objects if item["kind"] == "Deployment"
    }


@EITHER
def test_helm_finds_nothing_to_complain_about(helm: Helm, values: Values) -> None:
    done = helm(["lint", "--strict"], values)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@EITHER
def test_every_object_is_one_that_kubernetes_takes(render: Render, values: Values, version: str) -> None:
    objects = render(values)
    assert {"Deployment", "PodDisruptionBudget", "Service"} <= {item["kind"] for item in objects}
    for item in objects:
        kubernetes_validate.validate(item, version, strict=True)


def test_the_check_finds_a_wrong_field(render: Render) -> None:
    wrong = named(render(SMALLEST), "Deployment", "shop-dcf")
    wrong["spec"]["template"]["spec"]["containers"][0]["readOnly"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, NEWEST, strict=True)


def test_the_oldest_kubernetes_of_the_chart_is_the_one_that_is_tried() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"
    assert chart["appVersion"] == PROJECT["version"]


@EITHER
def test_no_pod_has_rights_or_writes_outside_of_tmp(render: Render, values: Values) -> None:
    for name, pod in pods(render(values)).items():
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for program in pod["containers"]:
            assert program["securityContext"]["readOnlyRootFilesystem"] is True
            assert program["securityContext"]["allowPrivilegeEscalation"] is False
            assert program["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert program["resources"]["limits"]["memory"]
            assert {mount["mountPath"] for mount in program["volumeMounts"] if not mount.get("readOnly")} == {"/tmp"}


@EITHER
def test_what_a_service_selects_is_one_deployment(render: Render, values: Values) -> None:
    objects = render(values)
    labels = [item["spec"]["template"]["metadata"]["labels"] for item in objects if item["kind"] == "Deployment"]
    for item in objects:
        if item["kind"] == "Service":
            selector = item["spec"]["selector"].items()
            assert len([each for each in labels if selector <= each.items()]) == 1, item["metadata"]["name"]


def test_commands_and_variables_are_those_of_dcf(render: Render) -> None:
    for name, pod in pods(render(FULL)).items():
        (program,) = pod["containers"]
        assert CliRunner().invoke(app, [*program["args"], "--help"]).exit_code == 0, name
        assert {variable["name"] for variable in program["env"]} - {"POD_IP"} <= set(SETTINGS), name
        assert all(isinstance(variable.get("value", ""), str) for variable in program["env"])


def test_secrets_are_named_and_never_written(render: Render) -> None:
    objects = render(FULL)
    assert not [item for item in objects if item["kind"] in {"Secret", "ConfigMap"}]
    sources = {
        variable["name"]: variable["valueFrom"]["secretKeyRef"]
        for pod in pods(objects).values()
        for variable in pod["containers"][0]["env"]
        if "secretKeyRef" in variable.get("valueFrom", {})
    }
    assert sources["REDIS_URL"] == {"name": "dcf-redis", "key": "address"}
    assert sources["DCF_API_KEY"]["key"] == "api-key"


def test_hosts_and_image_are_those_of_the_values(render: Render) -> None:
    objects = render(FULL)
    variables = {variable["name"]: variable.get("value", "") for variable in container(objects, "shop-dcf")["env"]}
    assert {"dcf.example", "shop-dcf:8337", "localhost:8337"} <= set(variables["DCF_MCP_ALLOWED_HOSTS"].split(","))
    assert "$(POD_IP):9464" in variables["DCF_MCP_ALLOWED_HOSTS"], "Kubernetes puts in the address of the pod"
    order = [variable["name"] for variable in container(objects, "shop-dcf")["env"]]
    assert order.index("POD_IP") < order.index("DCF_MCP_ALLOWED_HOSTS"), "only what stands before is put in"
    assert variables["DCF_PUBLIC_URL"] == "https://dcf.example/mcp"
    assert container(objects, "shop-dcf")["image"] == "registry.example/dcf@sha256:" + "0" * 64
    assert container(objects, "shop-dcf-worker-mail")["image"] == "shop:1"
    assert container(render(SMALLEST), "shop-dcf")["image"] == f"dcf:{PROJECT['version']}"
    rules = named(objects, "Ingress", "shop-dcf")["spec"]["rules"]
    assert [rule["host"] for rule in rules] == ["dcf.example", "page.example"]


def test_a_worker_ends_before_it_is_killed(render: Render) -> None:
    objects = render(FULL)
    for name, grace in {"shop-dcf-worker-pricing": 20, "shop-dcf-worker-mail": 90}.items():
        arguments = container(objects, name)["args"]
        assert arguments[arguments.index("--grace") + 1] == str(grace)
        assert named(objects, "Deployment", name)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > grace


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, r"redis\.secret: name the Secret that has the URL of Redis"),
        ({**SMALLEST, "ingress": {"enabled": True}}, r"ingress\.enabled: set server\.host or page\.host"),
        ({**SMALLEST, "workers": [{"name": "w", "agent": "a", "secret": "s"}]}, r"functions"),
        ({**SMALLEST, "server": {"replica": 3}}, r"replica"),
        ({**SMALLEST, "server": {"env": {"DCF_MAXMEMORY": 1_000_000_000}}}, r"DCF_MAXMEMORY"),
    ],
    ids=["no Redis", "no host", "no functions", "misspelt", "a number"],
)
def test_wrong_values_are_rejected_in_words(helm: Helm, values: Values, words: str) -> None:
    done = helm(["template", "shop"], values)
    assert done.returncode != 0
    assert re.search(words, done.stderr)
