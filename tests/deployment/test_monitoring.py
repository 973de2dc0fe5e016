"""The alerts and the dashboard under deploy/: they are what Prometheus and Grafana take, and name what dcf exports."""

import json
import re
from typing import Any

import jsonschema
import promql_parser
import pytest
import yaml

from tests.support.paths import ROOT
from tests.support.tables import rows

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus/alerts.yml"
CASES = DEPLOY / "prometheus/alerts.test.yml"
BOARD = DEPLOY / "grafana/dcf.json"

_TEXT = {"type": "string", "minLength": 1}
_DURATION = {"type": "string", "pattern": "^[0-9]+[smhd]$"}
_SOURCE = {"const": {"type": "prometheus", "uid": "${datasource}"}}
_CELLS = {"type": "integer", "minimum": 0}

ALERTS: dict[str, Any] = {
    "type": "object",
    "required": ["alert", "expr", "for", "labels", "annotations"],
    "additionalProperties": False,
    "properties": {
        "alert": {"type": "string", "pattern": "^Dcf[A-Z][A-Za-z]+$"},
        "expr": _TEXT,
        "for": _DURATION,
        "labels": {
            "type": "object",
            "required": ["severity"],
            "properties": {"severity": {"enum": ["warning", "critical"]}},
        },
        "annotations": {"type": "object", "required": ["summary", "action"], "additionalProperties": _TEXT},
    },
}
PANEL: dict[str, Any] = {
    "type": "object",
    "required": ["id", "type", "title", "datasource", "gridPos", "targets"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "type": {"enum": ["timeseries", "stat", "table"]},
        "title": _TEXT,
        "datasource": _SOURCE,
        "gridPos": {
            "type": "object",
            "required": ["x", "y", "w", "h"],
            "additionalProperties": False,
            "properties": {"x": _CELLS, "y": _CELLS, "w": {**_CELLS, "maximum": 24}, "h": {**_CELLS, "minimum": 1}},
        },
        "targets": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["refId", "datasource", "expr"],
                "properties": {"refId": {"pattern": "^[A-Z]$"}, "datasource": _SOURCE, "expr": _TEXT},
            },
        },
    },
}
DASHBOARD: dict[str, Any] = {
    "type": "object",
    "required": ["uid", "title", "schemaVersion", "templating", "panels", "time"],
    "properties": {
        "uid": {"type": "string", "pattern": "^[a-z0-9-]{1,40}$"},
        "title": _TEXT,
        "schemaVersion": {"type": "integer", "minimum": 30},
        "panels": {"type": "array", "minItems": 1, "items": PANEL},
    },
}


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def queries() -> list[str]:
    """Every expression of the alerts and the dashboard, with Grafana's variables filled in."""
    board = json.loads(BOARD.read_text())
    exprs = [rule["expr"] for rule in alerts()]
    exprs += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [re.sub(r"\$__(rate_interval|interval|range)", "5m", text) for text in exprs]


def test_the_dashboard_has_the_form_that_grafana_imports() -> None:
    jsonschema.validate(json.loads(BOARD.read_text()), DASHBOARD)


def test_every_alert_says_how_bad_it_is_what_is_wrong_and_what_to_do() -> None:
    for rule in alerts():
        jsonschema.validate(rule, ALERTS)
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)


@rows("text", queries())
def test_a_query_is_promql(text: str) -> None:
    promql_parser.parse(text)


@rows("text", ["rate(dcf_runs)", "sum(dcf_runs"])
def test_what_is_no_promql_is_seen(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        promql_parser.parse(text)


def test_every_alert_has_a_case_where_it_fires_and_one_where_it_does_not() -> None:
    request = [item for case in yaml.safe_load(CASES.read_text())["tests"] for item in case["promql_expr_test"]]
    name = re.compile(r'alertname="(\w+)"')
    for does_fire in (True, False):
        cases = {
            match[1]
            for item in request
            if bool(item["exp_samples"]) is does_fire and (match := name.search(item["expr"]))
        }
        assert cases == {rule["alert"] for rule in alerts()}
