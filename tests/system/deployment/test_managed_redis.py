"""dcf on a Redis with the restrictions of managed ones: each restriction is an ACL, or a removed command.

docs/operating/managed-redis.md names these tests for each of its rows.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from dcf.application.application import Application, open_application
from dcf.cli.reading.doctor import examine, print_report
from dcf.core.listing.runs import RunQuery
from dcf.errors import StoreUnsuitable
from dcf.features.health.findings import Level, Topic
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.web.site import build_site
from tests.support.paths import ROOT
from tests.support.redis.cluster import Cluster
from tests.support.redis.documents import SENT, STORED
from tests.support.redis.inboxes import reading
from tests.support.redis.restricted import USERS, rendered
from tests.support.redis.servers import redis_server
from tests.support.workflows.machines import chain
from tests.support.world import World
from tests.web.browsing import Browser, text_of

pytestmark = pytest.mark.anyio

DCF = next(
    line.split(maxsplit=3)[3]
    for line in rendered(USERS.read_text("utf-8"), dict.fromkeys(("dcf", "operator"), "x")).splitlines()
    if line.startswith("user dcf ")
)
"""The rights of the user dcf in deploy/redis/users.acl."""

EVERYTHING = "~* &* +@all"

REFUSED = {
    "CONFIG": ("-config|get", {Topic.DURABILITY: "how often it is synced to disk is not known"}),
    "INFO": (
        "-info",
        {
            Topic.MEMORY: "what it does when that is full, is not known: it refuses INFO",
            Topic.DURABILITY: "Whether Redis keeps its data on disk is not known: it refuses INFO",
            Topic.REPLICAS: "Which replicas there are is not known: Redis refuses INFO",
        },
    ),
    "WAIT": ("-wait", {}),
    "CLIENT": ("-client|setinfo", {}),
    "SCAN": ("-scan", {Topic.LISTS: "The lists could not be checked"}),
}
"""The commands that a service may refuse, by ACL, and the facts that health then cannot see."""

SERVICES = {
    "ElastiCache": "bgrewriteaof bgsave config debug migrate replicaof save slaveof shutdown sync",
    "Memorystore for Redis": (
        "acl bgrewriteaof bgsave client cluster command config debug lastsave migrate monitor object shutdown replicaof"
        " slaveof save"
    ),
    "Aiven for Caching": (
        "bgrewriteaof cluster command debug failover migrate role slaveof acl bgsave config lastsave monitor replicaof"
        " save shutdown"
    ),
}
"""Commands that these refuse, by their own documentation; docs/operating/managed-services.md names the pages."""

UNUSED = "memory acl latency script object command slowlog keys debug select publish subscribe module function cluster"
"""Commands that dcf never sends."""

NEEDED = [*dict.fromkeys(name.lower() for name in astuple(SENT)), "eval"]


@dataclass(frozen=True, slots=True)
class Site:
    """A server that keeps everything, and users that the test makes."""

    admin: redis.Redis
    port: int

    def url(self, rules: str) -> str:
        self.admin.execute_command("ACL", "SETUSER", "it", "reset", "on", ">pw", *rules.split())  # type: ignore[no-untyped-call]
        return f"redis://it:pw@127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def site(short_directory: Path) -> Iterator[Site]:
    with (
        redis_server(
            short_directory, "--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "no"
        ) as port,
        redis.Redis(port=port, protocol=2) as admin,
    ):
        yield Site(admin, port)


@contextmanager
def opened(url: str, **settings: Any) -> Iterator[tuple[Application, World]]:
    """An application, and another program of the same Redis and user."""
    with ExitStack() as stack:
        model_validate = Settings.model_validate({"redis_url": url, "auth": "off", "allow_operator": True, **settings})
        application = stack.enter_context(open_application(model_validate))
        world = World(connections=Connections(open_pool(url)))
        stack.callback(world.connections.close)
        yield application, world


def run_an_order(application: Application, world: World) -> None:
    """Three states, one after the other, each with a notification, and with a timer loop."""
    order = {"ValidateOrder": "w1", "CalculatePricing": "w2", "GenerateInvoice": "w3"}
    run = world.create(chain(*order), agents=order)
    application.control_plane.kick_off(run, "go")
    for state, agent in order.items():
        application.clock.pulse()
        application.clock.finish(10)
        (event,) = world.messages(agent)
        assert event["target_state"] == state
        world.do(run, state, agent, output={"by": agent})
    assert (world.run_status(run), world.output(run, "GenerateInvoice")) == ("succeeded", {"by": "w3"})
    assert run in [row.workflow_id for row in application.run_list.list_runs(RunQuery(limit=10)).rows]


def not_well(report: dict[str, Any]) -> dict[str, str]:
    """The topics of health that are not well."""
    return {check["topic"]: check["sentence"] for check in report["checks"] if check["level"] != Level.OK}


def expect(report: dict[str, Any], text: dict[Topic, str]) -> None:
    result = not_well(report)
    assert sorted(result) == sorted(text)
    for topic, words in text.items():
        assert words in result[topic]
    assert (report["ok"], report["failing"]) == (True, 0)


@pytest.mark.parametrize("name", REFUSED)
async def test_an_order_runs_without_the_command_and_health_says_what_it_cannot_see(
    site: Site, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rule, text = REFUSED[name]
    with opened(site.url(f"{DCF} {rule}")) as (application, world):
        run_an_order(application, world)
        report = examine(application)
        expect(report, text)
        json.dumps(report)
        print_report(report)
        shown = text_of(await Browser(build_site(application)).get("/ui/system"))
    printed = " ".join(capsys.readouterr().out.split())
    for words in text.values():
        assert words in printed
        assert words in shown


def test_an_order_runs_where_all_of_these_are_refused(site: Site) -> None:
    rules, text = zip(*REFUSED.values(), strict=True)
    with opened(site.url(f"{DCF} {' '.join(rules)}")) as (application, world):
        run_an_order(application, world)
        expect(examine(application), {topic: "" for each in text for topic in each})


def test_an_order_runs_where_commands_are_not_refused_but_unknown(tmp_path: Path) -> None:
    """Services take commands away as well as forbid them; the error is another one."""
    words = [word for name in ("CONFIG", "INFO", "WAIT", "CLIENT", "SCAN") for word in ("--rename-command", name, "")]
    with redis_server(tmp_path, *words) as port, opened(f"redis://127.0.0.1:{port}") as (application, world):
        run_an_order(application, world)
        report = examine(application)
    assert (report["ok"], report["redis_version"], report["modules"]) == (True, "unknown", [])
    assert report["checks"][0]["sentence"] == "Redis answers; its version is not known."
    assert "Redis lacks a command that dcf needs: SCAN." in not_well(report)["lists"]


@pytest.mark.parametrize("service", SERVICES)
def test_an_order_runs_without_what_a_service_refuses(site: Site, service: str) -> None:
    refused = " ".join(f"-{command}" for command in SERVICES[service].split())
    with opened(site.url(f"{EVERYTHING} {refused}")) as (application, world):
        run_an_order(application, world)
        expect(examine(application), REFUSED["CONFIG"][1])


def test_what_dcf_never_sends_may_be_refused(site: Site) -> None:
    refused = " ".join(f"-{command}" for command in UNUSED.split())
    with opened(site.url(f"{EVERYTHING} {refused}")) as (application, world):
        run_an_order(application, world)
        expect(examine(application), {})


def test_where_settings_may_not_be_read_health_does_not_say_that_all_is_lost(tmp_path: Path) -> None:
    user = ("--user", "it", "on", "nopass", "~*", "&*", "+@all", "-config")
    with redis_server(tmp_path, *user) as port, opened(f"redis://it:x@127.0.0.1:{port}") as (application, _):
        result = not_well(examine(application))
    assert result["durability"] == (
        "appendonly is no: only snapshots survive, if there are any (this user may not read settings),"
        " when Redis stops."
    )


@pytest.mark.parametrize("command", NEEDED)
def test_what_dcf_cannot_do_without_is_named_at_the_start(site: Site, command: str) -> None:
    with opened(site.url(DCF)):
        pass  # Redis keeps the form of documents now: a new one that refuses JSON.GET would be used without RedisJSON
    with pytest.raises(StoreUnsuitable) as raised, opened(site.url(f"{DCF} -{command}")):
        pass
    name = command.upper()
    assert raised.value.message == f"Redis does not allow this user {name}, which dcf needs (NOPERM)."
    assert "deploy/redis/users.acl" in raised.value.hint


@pytest.mark.parametrize(
    ("options", "with_json", "said"),
    [
        ((), False, "The documents of this Redis need RedisJSON, which this server does not have."),
        (("--rename-command", "EVAL", ""), True, "This Redis has no EVAL, which dcf needs."),
    ],
    ids=["JSON", "EVAL"],
)
def test_a_server_without_them_is_refused_at_the_start_with_what_to_do(
    tmp_path: Path, options: tuple[str, ...], with_json: bool, said: str
) -> None:
    with (
        redis_server(tmp_path, *options, with_json=with_json) as port,
        recorded(port, STORED.name if with_json else "json"),
        pytest.raises(StoreUnsuitable) as raised,
        opened(f"redis://127.0.0.1:{port}", documents="auto"),
    ):
        pass
    assert raised.value.message == said
    hint = "docs/operating/managed-redis.md" if with_json else "Start a server that has the module"
    assert hint in raised.value.hint


@contextmanager
def recorded(port: int, form: str) -> Iterator[None]:
    """A Redis whose record says that it has documents in this form."""
    with redis.Redis(port=port) as client:
        client.set(keys.DOCUMENT_FORM, form)
    yield


def test_asking_leaves_nothing_behind(site: Site) -> None:
    site.admin.flushall()
    with opened(site.url(DCF)):
        result = sorted(site.admin.keys())
    assert [key for key in result if b"probe" in key] == []


def test_a_server_that_takes_no_writes_just_now_is_no_reason_not_to_start(site: Site) -> None:
    site.admin.config_set("min-replicas-to-write", 1)
    try:
        with opened(site.url(DCF)) as (application, _):
            assert not application.health.report().is_ready
    finally:
        site.admin.config_set("min-replicas-to-write", 0)


def test_to_wait_for_replicas_where_wait_is_refused_is_refused_at_the_start(site: Site) -> None:
    with pytest.raises(StoreUnsuitable) as raised, opened(site.url(f"{DCF} -wait"), wait_replicas=1):
        pass
    assert raised.value.message.startswith("Redis refuses WAIT")
    assert "DCF_WAIT_REPLICAS=0" in raised.value.hint


def test_when_wait_is_refused_later_health_says_why_no_change_is_answered(site: Site) -> None:
    url = site.url(DCF)
    with opened(url, wait_replicas=1) as (application, _):
        site.url(f"{DCF} -wait")
        result = not_well(examine(application))
    assert result["replicas"] == "Redis refuses WAIT, so that no change is answered (DCF_WAIT_REPLICAS is 1)."


def test_replicas_that_confirm_are_enough_where_info_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dcf.features.health.storage._CONFIRM_MS", 4000
    )  # the replica's machine may be busy for a while
    with ExitStack() as stack:
        user = ("--user", "it", "on", "nopass", "~*", "&*", "+@all", "-info")
        primary = stack.enter_context(redis_server(tmp_path, *user))
        stack.enter_context(redis_server(tmp_path, "--replicaof", "127.0.0.1", str(primary)))
        application, world = stack.enter_context(opened(f"redis://it:x@127.0.0.1:{primary}", wait_replicas=1))
        run_an_order(application, world)
        (result,) = [finding for finding in application.health.report().findings if finding.topic is Topic.REPLICAS]
    assert (result.level, result.sentence.endswith("1 confirm writes.")) == (Level.OK, True)


def url_on(cluster: Cluster, rules: str) -> str:
    """The URL of a cluster for a user with these rights."""
    for node in cluster.alive():
        node.ask("ACL", "SETUSER", "it", "reset", "on", ">pw", *rules.split())
    return f"redis+cluster://it:pw@{cluster.url.rpartition('@')[2]}"


@pytest.mark.parametrize(
    ("rule", "named"), [("-ssubscribe", "SSUBSCRIBE"), ("-spublish", "SPUBLISH"), ("resetchannels", "SPUBLISH")]
)
def test_a_cluster_that_refuses_channels_is_refused_at_the_start(cluster: Cluster, rule: str, named: str) -> None:
    with pytest.raises(StoreUnsuitable) as raised, opened(url_on(cluster, f"{DCF} {rule}")):
        pass
    assert raised.value.message == f"Redis does not allow this user {named}, which dcf needs (NOPERM)."
    assert "the keys, channels and commands" in raised.value.hint


async def test_where_channels_are_refused_events_are_stored_and_waiting_names_the_reason(
    cluster: Cluster,
) -> None:
    async with reading(url_on(cluster, f"{DCF} -ssubscribe -spublish")) as reader:
        with pytest.raises(StoreUnsuitable, match="a command, key or channel that dcf needs"):
            await reader.next("ann-of-a-service", 30)
        assert reader._inbox.put("ann-of-a-service", "e", {"n": 1}).outcome == "put"
        result = await reader.next("ann-of-a-service", 30)
    assert result is not None
    assert result.event == {"n": 1}


def test_another_database_needs_select(site: Site) -> None:
    with opened(f"{site.url(f'{DCF} +select')}/3") as (application, world):
        run_an_order(application, world)
    with pytest.raises(StoreUnsuitable, match="NOPERM"), opened(f"{site.url(DCF)}/3"):
        pass


def test_the_page_names_these_tests_and_they_are_there() -> None:
    page = "".join(
        (ROOT / "docs" / "operating" / f"managed-{name}.md").read_text("utf-8") for name in ("redis", "services")
    )
    named = set(re.findall(r"`(test_\w+)`", page))
    files = (
        "system/deployment/test_managed_redis.py",
        "store/connection/test_tls.py",
        "store/connection/test_password_file.py",
    )
    there = {
        name for file in files for name in re.findall(r"def (test_\w+)", (ROOT / "tests" / file).read_text("utf-8"))
    }
    assert named <= there
    assert set(SERVICES) <= set(re.findall(r"^\| (\w[\w ]+?) \|", page, re.MULTILINE))
