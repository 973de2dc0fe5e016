"""promtool takes the alerts and the queries under deploy/, and each alert fires where it should."""

from pathlib import Path

import pytest
import yaml

from tests.deployment.test_monitoring import CASES, RULES, queries
from tests.system.deployment.promtool import promtool


def test_promtool_takes_the_rules() -> None:
    promtool("check", "rules", RULES)


def test_promtool_takes_every_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"dcf:query{at}", "expr": text} for at, text in enumerate(queries())]
    written = tmp_path / "queries.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    promtool("check", "rules", written)


def test_what_promtool_refuses_fails_a_test(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(RULES.read_text().replace("min(dcf_redis_up)", "min(dcf_redis_up[5m])"))
    with pytest.raises(AssertionError, match="expected type instant vector"):
        promtool("check", "rules", wrong)


def test_every_alert_fires_in_its_cases_and_in_no_other() -> None:
    promtool("test", "rules", CASES)


def test_without_promtool_a_test_is_skipped_but_not_in_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no promtool"):
        promtool("check", "rules", RULES)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI checks the rules"):
        promtool("check", "rules", RULES)
