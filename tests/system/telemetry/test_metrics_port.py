"""`dcf serve --metrics-port`: metrics on a port of their own, behind a key all the same; one signal ends both."""

import json
import os
import signal

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system.processes.site import LONG, Site, finish, first_line

pytestmark = pytest.mark.processes


def test_metrics_are_on_a_port_of_their_own_behind_a_key_and_end_with_the_server(site: Site) -> None:
    printed, _ = finish(site.dcf("keys", "add", "--scope", "read", "--any-agent", "--json"))
    headers = {"Authorization": f"Bearer {json.loads(printed)['key']}"}
    process = site.dcf("serve", "--transport", "http", "--json", "--port", "0", "--metrics-port", "0", "--auth", "keys")
    places = json.loads(first_line(process))
    url = places["metrics"]
    assert httpx2.get(url).status_code == 401
    assert httpx2.get(url, headers=headers | {"Host": "evil.example"}).status_code == 421
    assert httpx2.get(places["url"].replace("/mcp", "/metrics"), headers=headers).status_code == 404
    assert httpx2.get(url.replace("/metrics", "/healthz"), headers=headers).status_code == 404
    page = httpx2.get(url, headers=headers)
    assert page.status_code == 200
    families = {family.name: family for family in text_string_to_metric_families(page.text)}
    assert families["dcf_redis_up"].samples[0].value == 1
    os.kill(site.redis_pid(), signal.SIGSTOP)
    try:
        (family,) = text_string_to_metric_families(httpx2.get(url, headers=headers, timeout=LONG).text)
    finally:
        os.kill(site.redis_pid(), signal.SIGCONT)
    assert [(sample.name, sample.value) for sample in family.samples] == [("dcf_redis_up", 0)]
    process.terminate()
    process.wait(LONG)
    assert "Traceback" not in site.said(process)
