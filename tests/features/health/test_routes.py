"""`/metrics`: who may read it, what it counts, and that its table, its alerts and its dashboard name what there is."""

import json
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from dcf import metrics
from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.model import Status
from dcf.core.documents.usage import UsageReport
from dcf.core.leasing.lease import Acquire, Release
from dcf.core.leasing.parking import Excuse
from dcf.core.lifecycle.creation import Create
from dcf.features.accounts.model import LimitMet, Wish
from dcf.features.health import routes as metrics_route
from dcf.settings.process import Settings
from dcf.store.embedded import server as embedded
from dcf.tools.mcp.server import build_http_app
from tests.support.paths import ROOT
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.calls import ONE_TASK, serving

FAMILIES = (*metrics.COUNTED, *metrics_route.READ)
LINE = re.compile(r'(dcf_\w+)(\{(?:\w+="[^"\\\n]*",?)*\})? (\d+(?:\.\d+)?(?:e-?\d+)?)')


@pytest.fixture(autouse=True)
def _counts() -> Iterator[None]:
    """Each test counts from zero, and nothing is counted after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "current", None)
        yield


@pytest.fixture
def site(replica: Callable[..., Application]) -> Application:
    return replica(auth="keys")


def _key(site: Application, *scopes: Scope) -> dict[str, str]:
    text = site.keys.create(scopes, agent_id=None, label=None, life_s=600).text
    return {"Authorization": f"Bearer {text}"}


def new_run(site: Application, document: Any = ONE_TASK) -> tuple[str, str]:
    """A new run with one task, and the name of the task."""
    definition = read_definition(document)
    wish = Create(
        workflow_id=f"r-{secrets.token_hex(5)}", definition=definition, run_input={}, agents={},
        planner_agent_id=None, retention_s=None, max_attempts=10,
    )  # fmt: skip
    site.control_plane.create(wish)
    return wish.workflow_id, definition.machine.start_at


def acquired(site: Application, run: str, state: str) -> str:
    token = secrets.token_hex(16)
    site.control_plane.acquire(run, Acquire(state=state, owner="w", token=token, ttl_s=60, any_owner=True))
    return token


def _scraped(site: Application, url: str) -> dict[str, float]:
    """Every sample by its name with its labels; each line that is no comment must be one."""
    got = httpx2.get(f"{url}/metrics", headers=_key(site, Scope.READ))
    assert (got.status_code, got.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = [line for line in got.text.splitlines() if not line.startswith("#")]
    matches = [LINE.fullmatch(line) for line in lines]
    assert None not in matches, lines
    _understood(got.text, len(lines))
    return {f"{match[1]}{match[2] or ''}": float(match[3]) for match in matches if match is not None}


def _understood(text: str, samples: int) -> None:
    """Prometheus's own parser must find every sample, in a family with its type and meaning."""
    families = list(text_string_to_metric_families(text))
    assert sum(len(family.samples) for family in families) == samples
    known = {(item.name.removesuffix("_total"), item.kind) for item in FAMILIES}  # the parser takes that suffix off
    missing = known - {(family.name, family.type) for family in families}
    assert missing <= {(metrics_route.LOOKED.name, "gauge")}, "which is there once a clock has looked"
    assert len(families) + len(missing) == len(known)
    assert all(family.documentation for family in families)


def test_there_are_no_metrics_where_nobody_asked_for_them(site: Application) -> None:
    with serving(build_http_app(site)) as url:
        assert httpx2.get(f"{url}/metrics", headers=_key(site, Scope.READ)).status_code == 404


def test_metrics_need_a_key_with_the_scope_read_and_a_known_host(site: Application) -> None:
    metrics.count()
    with serving(build_http_app(site)) as url:
        assert httpx2.get(f"{url}/metrics").status_code == 401
        assert httpx2.get(f"{url}/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert httpx2.get(f"{url}/metrics", headers=_key(site, Scope.WORK)).status_code == 403
        strange = _key(site, Scope.READ) | {"Host": "evil.example"}
        assert httpx2.get(f"{url}/metrics", headers=strange).status_code == 421
        assert httpx2.post(f"{url}/metrics", headers=_key(site, Scope.READ)).status_code == 405


def test_metrics_need_no_key_where_the_server_asks_for_none(replica: Callable[..., Application]) -> None:
    metrics.count()
    with serving(build_http_app(replica(auth="off"))) as url:
        assert "dcf_redis_up 1" in httpx2.get(f"{url}/metrics").text


def test_a_key_of_one_project_may_not_read_what_is_counted_of_all(site: Application) -> None:
    metrics.count()
    key = site.keys.create((Scope.READ,), agent_id=None, label=None, life_s=600, project="p").text
    with serving(build_http_app(site)) as url:
        got = httpx2.get(f"{url}/metrics", headers={"Authorization": f"Bearer {key}"})
    assert (got.status_code, "dcf_runs" in got.text) == (403, False)


def a_scrape_without_redis(
    folder: Path, headers: Callable[[Application], dict[str, str]], auth: str
) -> httpx2.Response:
    """Return the answer of a server after its Redis has ended."""
    with embedded.start(folder / "data") as server:
        manager = open_application(Settings.model_validate({"redis_url": server.url, "auth": auth}))
        application = manager.__enter__()
        shown = headers(application)
    try:
        with serving(build_http_app(application)) as url:
            return httpx2.get(f"{url}/metrics", headers=shown, timeout=60)
    finally:
        manager.__exit__(None, None, None)


def test_metrics_with_a_key_say_that_redis_does_not_answer(tmp_path: Path) -> None:
    metrics.count().called("list_runs", 0.1)
    got = a_scrape_without_redis(tmp_path, lambda site: _key(site, Scope.READ), "keys")
    assert (got.status_code, got.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    (family,) = text_string_to_metric_families(got.text)
    assert [(sample.name, sample.value) for sample in family.samples] == [("dcf_redis_up", 0)]


def test_metrics_say_that_redis_does_not_answer_where_no_key_is_asked_for(tmp_path: Path) -> None:
    metrics.count().called("list_runs", 0.1)
    got = a_scrape_without_redis(tmp_path, lambda _: {}, "off")
    assert got.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(got.text)}
    assert families["dcf_redis_up"].samples[0].value == 0
    assert "dcf_tool_seconds" in families  # what the process counts itself is there all the same


def test_without_redis_a_request_without_a_key_or_with_another_host_learns_nothing(tmp_path: Path) -> None:
    metrics.count()
    assert a_scrape_without_redis(tmp_path / "a", lambda _: {}, "keys").status_code == 401

    def strange(site: Application) -> dict[str, str]:
        return _key(site, Scope.READ) | {"Host": "evil.example"}

    assert a_scrape_without_redis(tmp_path / "b", strange, "keys").status_code == 421


def test_a_lease_is_counted_with_the_time_from_ready_and_a_refused_one_by_its_code(site: Application) -> None:
    metrics.count()
    with serving(build_http_app(site)) as url:
        run, state = new_run(site)
        token = acquired(site, run, state)
        acquired(site, run, state)
        site.control_plane.release(run, Release(state=state, token=token))
        acquired(site, run, state)
        scraped = _scraped(site, url)
    assert scraped['dcf_lease_acquire_total{outcome="acquired"}'] == 2
    assert scraped['dcf_lease_acquire_total{outcome="lease_held"}'] == 1
    assert scraped["dcf_ready_to_acquired_seconds_count"] == 2
    assert scraped['dcf_ready_to_acquired_seconds_bucket{le="+Inf"}'] == 2
    assert scraped["dcf_lease_takeovers_total"] == 0


def test_runs_are_counted_by_status_and_no_label_names_one(site: Application) -> None:
    metrics.count()
    with serving(build_http_app(site)) as url:
        before = _scraped(site, url)
        run, state = new_run(site)
        acquired(site, run, state)
        after = _scraped(site, url)
    assert after['dcf_runs{status="running"}'] == before['dcf_runs{status="running"}'] + 1
    assert after["dcf_redis_up"] == 1
    assert not [name for name in after if run in name]


@pytest.fixture
def lonely_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    with restricted_redis(short_directory / "metrics") as server:
        yield server


@pytest.fixture
def lonely(replica: Callable[..., Application], lonely_redis: RestrictedRedis) -> Application:
    """A control plane without other runs: of many a sample is counted."""
    return replica(auth="keys", redis_url=lonely_redis.url)


def test_open_states_are_leased_late_or_free(lonely: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.store.lists.counts.GOOD_FOR_S", 0.0)
    metrics.count()
    with serving(build_http_app(lonely)) as url:
        before = _scraped(lonely, url)
        run, state = new_run(lonely)
        free = _scraped(lonely, url)
        token = acquired(lonely, run, state)
        leased = _scraped(lonely, url)
        lonely.control_plane.update(run, Update(state=state, token=token, owner="w", status=Status.SUCCEEDED, output=1))
        ended = _scraped(lonely, url)

    def more(document: dict[str, float], status: str) -> float:
        name = f'dcf_open_states{{status="{status}"}}'
        return document[name] - before[name]

    run, state = new_run(lonely)
    excuse = Excuse(within_s=60)
    lonely.accounts.release(run, Release(state=state, token=acquired(lonely, run, state), excuse=excuse))
    with serving(build_http_app(lonely)) as url:
        assert more(_scraped(lonely, url), "parked") == 1

    assert [(more(result, "free"), more(result, "leased")) for result in (free, leased, ended)] == [
        (1, 0),
        (0, 1),
        (0, 0),
    ]
    assert ended['dcf_states_total{status="entered"}'] == 1
    assert ended['dcf_states_total{status="succeeded"}'] == 1
    assert ended['dcf_state_duration_seconds_count{status="succeeded"}'] == 1


def test_a_state_that_waits_for_a_verdict_is_leased_however_long_that_takes(
    lonely: Application, lonely_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.lists.counts.GOOD_FOR_S", 0.0)
    metrics.count()
    gate = {"name": "review", "kind": "review", "criteria": ["It is short."]}
    task = {"Type": "Task", "Gates": [gate], "End": True}
    run, state = new_run(lonely, {"asl": {"StartAt": "A", "States": {"A": task}}})
    token = acquired(lonely, run, state)
    lonely.control_plane.update(run, Update(state=state, token=token, owner="w", status=Status.SUCCEEDED, output={}))
    key = lonely.control_plane.transactions.store.keys(run).state(state)
    with lonely_redis.admin() as admin:
        set_member(admin.execute_command, key, ("lease", "expires_at"), "2026-01-01T00:00:00.000000Z")
    with serving(build_http_app(lonely)) as url:
        values = _scraped(lonely, url)
    assert {name: values[f'dcf_open_states{{status="{name}"}}'] for name in ("leased", "expired")} == {
        "leased": 1,
        "expired": 0,
    }


def test_a_call_of_a_tool_is_counted_by_its_name(site: Application) -> None:
    metrics.count()
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_runs", "arguments": {}}}
    accepted = {"Accept": "application/json, text/event-stream"}
    with serving(build_http_app(site)) as url:
        httpx2.post(f"{url}/mcp", json=body, headers=_key(site, Scope.READ) | accepted)
        scraped = _scraped(site, url)
    assert scraped['dcf_tool_seconds_count{tool="list_runs"}'] == 1


def closed_account(site: Application) -> str:
    """An account with a budget, of which a turn has used 81 %, that a limit closes."""
    account = f"acc-{secrets.token_hex(4)}"
    site.accounts.put(account, {"day_tokens": 1000, "day_nanos": 2 * 10**9}, "EUR")
    site.accounts.reserve(account, Wish(id="t1", run="r", agent="ann", tokens=100))
    used = UsageReport(tokens_in=800, tokens_out=10, nanos=10**9, currency="EUR")
    site.accounts.report(account, "t1", used, ended=True, ok=True)
    site.accounts.reserve(account, Wish(id="t2", run="r", agent="ann", tokens=100))
    site.accounts.closed(account, LimitMet(until=0, kind="limit", by="ann"), until="2h")
    for number in (3, 4):
        site.accounts.reserve(account, Wish(id=f"t{number}", run="r", agent="ann"))
    return account


def test_accounts_are_counted_by_name(lonely: Application) -> None:
    metrics.count()
    account = closed_account(lonely)
    excuse = Excuse(within_s=60, account=account, by="ann")
    run, state = new_run(lonely)
    lonely.accounts.release(run, Release(state=state, token=acquired(lonely, run, state), excuse=excuse))
    with serving(build_http_app(lonely)) as url:
        scraped = _scraped(lonely, url)
        lonely.accounts.reopen(account, "ops")
        opened = _scraped(lonely, url)
    label = f'{{account="{account}"}}'
    names = ("dcf_account_in_flight", "dcf_account_open", "dcf_states_parked")
    assert [scraped[f"{name}{label}"] for name in names] == [1, 0, 1]
    assert [opened[f"{name}{label}"] for name in names] == [1, 1, 0]
    assert scraped[f"dcf_account_closed_seconds{label}"] > 0
    assert opened[f"dcf_account_closed_seconds{label}"] == 0
    parts = {unit: f'{{account="{account}",unit="{unit}"}}' for unit in ("tokens", "EUR")}
    assert [scraped[f"dcf_account_spent_today{label}"] for label in parts.values()] == [810, 1]
    assert [scraped[f"dcf_account_budget_today{label}"] for label in parts.values()] == [1000, 2]
    assert scraped[f'dcf_account_refused_total{{account="{account}",reason="closed"}}'] == 2


def test_a_hundred_accounts_are_named_and_refusals_of_others_are_counted_together(lonely: Application) -> None:
    meters = metrics.count()
    for number in range(metrics.MOST_ACCOUNTS + 5):
        lonely.accounts.put(f"acc-{number:03}", {"in_flight": 1})
        meters.turn_refused(f"acc-{number:03}", "in_flight")
    with serving(build_http_app(lonely)) as url:
        scraped = _scraped(lonely, url)
    assert len([name for name in scraped if name.startswith("dcf_account_open")]) == metrics.MOST_ACCOUNTS
    assert scraped['dcf_account_refused_total{account="(others)",reason="in_flight"}'] == 5


def a_scrape(site: Application) -> str:
    """The metrics that Prometheus reads after one of everything has happened."""
    metrics.count().notified(["delivered"])
    with serving(build_http_app(site)) as url:
        run, state = new_run(site)
        token = acquired(site, run, state)
        site.control_plane.update(run, Update(state=state, token=token, owner="w", status=Status.SUCCEEDED, output=1))
        metrics.count().called("list_runs", 0.1)
        closed_account(site)
        return httpx2.get(f"{url}/metrics", headers=_key(site, Scope.READ)).text


def test_a_scrape_has_a_sample_of_every_metric(site: Application) -> None:
    lines = map(LINE.match, a_scrape(site).splitlines())
    sampled = {re.sub("_(bucket|sum|count)$", "", line[1]) for line in lines if line}
    missing = {family.name for family in FAMILIES} - sampled
    assert missing <= {metrics_route.LOOKED.name, metrics_route.CAUSES.name}, "which need a clock, and a stuck run"


# The names


def _in_expressions(result: Any) -> set[str]:
    """The names of metrics in every `expr` of a document."""
    if isinstance(result, list):
        return {name for item in result for name in _in_expressions(item)}
    if not isinstance(result, dict):
        return set()
    own = set(re.findall(r"dcf_\w+", result["expr"])) if isinstance(result.get("expr"), str) else set()
    return own | {name for item in result.values() for name in _in_expressions(item)}


def _exported() -> set[str]:
    """Every name that a query may use."""
    suffixes = {"histogram": ("_bucket", "_sum", "_count")}
    return {f"{item.name}{suffix}" for item in FAMILIES for suffix in suffixes.get(item.kind, ("",))}


def test_the_table_of_metrics_has_each_one_as_it_is_exported() -> None:
    text = (ROOT / "docs/operating/monitoring.md").read_text()
    rows = re.findall(r"^\| `(dcf_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$", text, re.MULTILINE)
    labels = {item.name: ", ".join(f"`{label}`" for label in item.labels) for item in FAMILIES}
    assert rows == [(item.name, item.kind, labels[item.name], item.text) for item in FAMILIES]


def test_alerts_and_dashboard_name_only_metrics_that_there_are() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    board = json.loads((ROOT / "deploy/grafana/dcf.json").read_text())
    for used in (_in_expressions(rules), _in_expressions(board)):
        assert used
        assert used <= _exported()


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads((ROOT / "deploy/grafana/dcf.json").read_text())["panels"]
    return panels


def test_the_panels_of_the_dashboard_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = _panels()
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_every_metric_is_on_the_dashboard() -> None:
    used = {re.sub("_bucket$", "", name) for name in _in_expressions(_panels())}
    assert used == {item.name for item in FAMILIES}
