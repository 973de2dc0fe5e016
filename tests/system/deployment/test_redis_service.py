"""The Redis of the compose file, started with its settings: access, durability, and dcf on it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from tests.deployment.files import without
from tests.support.paths import ROOT
from tests.support.redis.documents import read_member, set_member, write_command, write_document
from tests.support.redis.restricted import USERS, rendered
from tests.system.deployment.conftest import PASSWORDS, Container
from tests.system.processes.site import LONG

KNOWN = {"dcf": PASSWORDS["REDIS_PASSWORD"], "operator": PASSWORDS["REDIS_OPERATOR_PASSWORD"]}


def connected(container: Container, user: str | None, password: str | None = None) -> redis.Redis:
    value = None if user is None else password or KNOWN.get(user, "any")
    once = Retry(NoBackoff(), 0)
    return redis.Redis(unix_socket_path=str(container.socket), username=user, password=value, protocol=2, retry=once)


def url(container: Container) -> str:
    return f"unix://dcf:{quote(KNOWN['dcf'], safe='')}@{container.socket}"


# Starting


@pytest.mark.parametrize("missing", PASSWORDS)
@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_it_does_not_start_without_a_password(container: Container, missing: str, empty: bool) -> None:
    environment = container.environment(**without(PASSWORDS, missing, empty=empty))
    done = subprocess.run(
        container.command(), env=environment, capture_output=True, text=True, timeout=LONG, check=False
    )
    assert done.returncode != 0
    assert f"{missing}: set it" in done.stderr
    assert not container.acl_file.exists()


def test_its_acl_file_has_the_users_with_digests_of_their_passwords_for_itself_alone(deployed: Container) -> None:
    text = deployed.acl_file.read_text()
    assert [line for line in text.splitlines() if line] == rendered(USERS.read_text("utf-8"), KNOWN).splitlines()
    assert not [password for password in KNOWN.values() if password in text]
    assert deployed.acl_file.stat().st_mode & 0o777 == 0o600


def test_it_is_well_only_while_it_answers(deployed: Container, container: Container) -> None:
    assert deployed.is_well()
    assert not container.is_well()


def test_a_transaction_that_a_power_loss_tore_costs_nothing_that_is_written_after_it(container: Container) -> None:
    with container.running(), connected(container, "dcf") as client:
        write_document(client.execute_command, "cp:wf:x:meta", {"status": "running"})
    (log,) = container.place.glob("appendonlydir/*.incr.aof")
    with log.open("ab") as file:
        file.write(b"*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$7\r\ncp:wf:x\r\n*2\r\n$4\r\nIN")
    with container.running(), connected(container, "dcf") as client:
        set_member(client.execute_command, "cp:wf:x:meta", "status", "succeeded")
    with container.running(), connected(container, "dcf") as client:
        assert read_member(client.execute_command, "cp:wf:x:meta", "status") == "succeeded"


# Who gets in


def test_nobody_gets_in_without_a_name(deployed: Container) -> None:
    with connected(deployed, None) as client, pytest.raises(redis.AuthenticationError):
        client.get("cp:wf:x:meta")


@pytest.mark.parametrize("user", ["dcf", "operator", "default"])
def test_nobody_gets_in_with_a_wrong_password(deployed: Container, user: str) -> None:
    with connected(deployed, user, "guess") as client, pytest.raises(redis.AuthenticationError):
        client.get("cp:wf:x:meta")


def test_the_health_check_gets_a_sign_of_life_and_nothing_else(deployed: Container) -> None:
    with connected(deployed, "probe") as client:
        assert client.ping()
        for ask in (client.info, client.dbsize, partial(client.get, "cp:wf:x:meta")):
            with pytest.raises(NoPermissionError):
                ask()


SCRIPTS: dict[str, Callable[[redis.Redis], object]] = {
    "emptying the database": lambda client: client.eval("return redis.call('FLUSHALL')", 0),
    "listing keys": lambda client: client.eval("return redis.call('KEYS', '*')", 0),
    "a key of others": lambda client: client.eval("return redis.call('GET', KEYS[1])", 1, "other:x"),
    "a key of others, not declared": lambda client: client.eval("return redis.call('GET', 'other:x')", 0),
    "a document of others": lambda client: client.eval("redis.call(unpack(ARGV))", 0, *write_command("other:x", "1")),
    "settings": lambda client: client.eval("return redis.call('CONFIG', 'SET', 'appendonly', 'no')", 0),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_may_do_no_more_than_its_user(deployed: Container, script: Callable[[redis.Redis], object]) -> None:
    with connected(deployed, "dcf") as client, pytest.raises(redis.ResponseError, match=r"ACL|permission|not allowed"):
        script(client)


# What dcf has of it


def dcf(container: Container, *arguments: str | Path) -> dict[str, object]:
    environment = {**os.environ, "REDIS_URL": url(container)}
    command = [Path(sys.executable).parent / "dcf", *arguments, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_dcf_finds_nothing_to_warn_of(deployed: Container) -> None:
    finished = dcf(deployed, "doctor", "--strict")
    assert (finished["level"], finished["warnings"], finished["failing"]) == ("ok", 0, 0)
    memory, durability = dict(finished["memory"]), dict(finished["durability"])  # type: ignore[call-overload]
    assert (memory["limit"], memory["policy"]) == (512 * 1024**2, "noeviction")
    assert (durability["appendonly"], durability["appendfsync"]) == (True, "always")


@pytest.mark.processes
def test_the_order_pipeline_runs_to_its_end_and_nothing_of_it_was_refused(deployed: Container) -> None:
    workflows = ROOT / "workflows"
    value = workflows / "order_processing" / "order.json"
    finished = dcf(deployed, "run", workflows / "order_processing.json", "--input", value)
    assert finished["status"] == "succeeded"
    assert dict(finished["output"])["total"] == "242.77"  # type: ignore[call-overload]
    with connected(deployed, "operator") as operator:
        assert read_member(operator.execute_command, f"cp:wf:{finished['workflow_id']}:meta", "status")
        with pytest.raises(NoPermissionError):
            operator.delete(f"cp:wf:{finished['workflow_id']}:meta")
