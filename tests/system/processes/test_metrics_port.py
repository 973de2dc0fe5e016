"""`dcf serve --metrics-port`: metrics on a port of their own, behind a key all the same; one signal ends both."""

import json

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system.processes.site import LONG, Site, finish, first_line

pytestmark = pytest.mark.processes


def test_metrics_are_on_their_own_port_alone_and_end_with_the_server(site: Site) -> None:
    process = site.dcf("serve", "--transport", "http", "--json", "--port", "0", "--metrics-port", "0")
    told = json.loads(first_line(process))
    assert httpx2.get(told["url"].replace("/mcp", "/metrics")).status_code == 404
    assert httpx2.get(told["metrics"].replace("/metrics", "/healthz")).status_code == 404
    families = {one.name: one for one in text_string_to_metric_families(httpx2.get(told["metrics"]).text)}
    assert families["dcf_redis_up"].samples[0].value == 1
    process.terminate()
    process.wait(LONG)
    assert "Traceback" not in site.said(process)


def test_metrics_on_their_own_port_ask_for_a_key_where_mcp_does(site: Site) -> None:
    said, _ = finish(site.dcf("keys", "create", "--scope", "read", "--any-agent", "--json"))
    key = json.loads(said)["key"]
    process = site.dcf("serve", "--transport", "http", "--json", "--port", "0", "--metrics-port", "0", "--auth", "keys")
    url = json.loads(first_line(process))["metrics"]
    assert httpx2.get(url).status_code == 401
    assert httpx2.get(url, headers={"Authorization": f"Bearer {key}"}).status_code == 200
    assert httpx2.get(url, headers={"Authorization": f"Bearer {key}", "Host": "evil.example"}).status_code == 421
