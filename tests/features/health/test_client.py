"""How dcf is, from Python."""

from dcf.client import Client


def test_a_client_reads_how_dcf_is(client: Client) -> None:
    health = client.read_health()
    assert health.level in {"ok", "warning", "failing"}
    assert {"redis", "clock"} <= {check.topic for check in health.checks}
    assert "redis_version" in str(health.facts)
