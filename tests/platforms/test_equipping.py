"""Skills on agents: all or nothing, no foreign object touched, for a crash at any point (traps.md, section 8)."""

import json
import secrets
from typing import Any

import pytest

from dcf.errors import AgentUnknown, Conflict, Forbidden, PlatformUnavailable, ToolUnavailable
from dcf.store.keys import table as keys
from tests.platforms.conftest import MIRROR, Site, Workshop, read
from tests.support.agents.faults import Died, Watched, always, once
from tests.support.agents.skill_manifests import Document, manifest, source, tool
from tests.support.racing import race
from tests.support.redis.documents import read_text
from tests.support.tables import rows

GONE = ToolUnavailable("The server does not have it.")
DOWN = PlatformUnavailable("The platform does not answer.")


def state_of(site: Site, agent: str) -> tuple[dict[str, str], list[str]]:
    """All that an agent has."""
    return site.blocks(agent), site.tool_names(agent)


def mirror(site: Site, agent: str) -> Any:
    return json.loads(site.blocks(agent)[MIRROR])


def skill(name: str, *tools: Document, **more: Any) -> Document:
    return manifest(name, requiredTools=list(tools), requiredDataSources=[], **more)


def ledger(workshop: Workshop, agent: str) -> Any:
    document, _ = workshop.world.documents.read(keys.skills(agent))
    return document


def test_a_loaded_skill_gives_directives_tools_data_and_an_entry_in_the_mirror(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    loaded = equipment.load(agent, read(manifest()))
    assert not loaded.already
    blocks, tools = state_of(site, agent)
    assert blocks["skill_directives_check.order_skill.check.order@1.0.0"] == "Use check.order with care."
    assert blocks["skill_ds_check.order_rules"] == "No orders over 10000."
    assert tools == ["acquire_state_lease", "verify"]
    holding = loaded.holding
    assert mirror(site, agent) == {
        "skill.check.order@1.0.0": {
            "skillName": "check.order",
            "skillVersion": "1.0.0",
            "memoryBlockIds": [holding.directives_id],
            "toolIds": holding.tool_ids,
            "dataSourceBlockIds": holding.data_ids,
        }
    }


def test_unloading_leaves_the_agent_as_it_was(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    before = state_of(site, agent)
    equipment.load(agent, read(manifest()))
    done = equipment.unload(agent, "skill://check.order@1.0.0")
    assert done.holding is not None
    assert state_of(site, agent) == before
    assert ledger(workshop, agent) is None, "nothing is kept of an agent without skills"


def test_unloading_what_is_not_loaded_calls_no_platform(workshop: Workshop, site: Site) -> None:
    watched = Watched(site.platform)
    assert workshop.equipment(watched).unload(site.make(), "skill.x@1.0.0").holding is None
    assert watched.total == 0


def test_loading_twice_is_idempotent_and_calls_no_platform(workshop: Workshop, site: Site) -> None:
    """D-76: the duplicate was noticed only after everything had been attached again."""
    watched = Watched(site.platform)
    agent, equipment = site.make(), workshop.equipment(watched)
    first = equipment.load(agent, read(manifest()))
    before, calls = state_of(site, agent), watched.total
    again = equipment.load(agent, read(manifest()))
    assert again.already
    assert again.holding.tool_ids == first.holding.tool_ids
    assert (watched.total, state_of(site, agent)) == (calls, before)


def test_another_content_under_the_same_id_is_refused(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    equipment.load(agent, read(manifest()))
    with pytest.raises(Conflict, match="another content"):
        equipment.load(agent, read(manifest(skillDirectives="Something else.")))


def test_a_long_text_comes_in_pieces_that_say_how_many_they_are(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    text = "".join(chr(0x61 + number % 26) for number in range(250))
    workshop.equipment().load(agent, read(manifest(requiredDataSources=[source("faq", text)])))
    values = {label: value for label, value in site.blocks(agent).items() if label.startswith("skill_ds_")}
    assert list(map(len, (values[f"skill_ds_check.order_faq_chunk_{part}_of_3"] for part in (1, 2, 3)))) == [
        100,
        100,
        50,
    ]
    assert "".join(values[name] for name in sorted(values)) == text


def test_more_data_than_an_agent_can_bear_is_refused(workshop: Workshop, site: Site) -> None:
    """D-79b: there was no limit on the number of blocks."""
    agent = site.make()
    before = state_of(site, agent)
    with pytest.raises(Forbidden, match="3 pieces"):
        workshop.equipment(max_pieces=2).load(agent, read(manifest(requiredDataSources=[source("faq", "x" * 300)])))
    assert state_of(site, agent) == before


# D-70: a required tool that cannot be had fails the load, an optional one is named


def test_a_required_tool_whose_server_nobody_knows_fails_the_load(workshop: Workshop, site: Site) -> None:
    watched = Watched(site.platform)
    agent = site.make()
    with pytest.raises(ToolUnavailable, match="'nowhere' is not in the registry"):
        workshop.equipment(watched).load(agent, read(skill("x", tool("verify", "nowhere"))))
    assert watched.total == 0
    assert ledger(workshop, agent) is None


def test_an_optional_tool_whose_server_nobody_knows_is_left_out_with_a_warning(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    document = skill("x", tool("verify"), tool("extra", "nowhere", required=False))
    loaded = workshop.equipment().load(agent, read(document))
    assert loaded.warnings == ("The optional tool 'extra' was left out: The server 'nowhere' is not in the registry.",)
    assert site.tool_names(agent) == ["acquire_state_lease", "verify"]
    assert workshop.equipment().load(agent, read(document)).warnings == loaded.warnings, "and it is remembered"


def test_an_optional_tool_that_the_platform_does_not_get_is_left_out_with_a_warning(
    workshop: Workshop, site: Site
) -> None:
    watched = Watched(site.platform, fail={"attach_tool": once(GONE, at=2)})
    agent = site.make()
    document = skill("x", tool("verify"), tool("extra", required=False), tool("third"))
    loaded = workshop.equipment(watched).load(agent, read(document))
    assert loaded.warnings == ("The optional tool 'extra' was left out: The server does not have it.",)
    assert site.tool_names(agent) == ["acquire_state_lease", "third", "verify"]


@rows("transport", ["sse", "ws", "http", "streamable_http"])
def test_every_transport_of_the_seed_is_known(workshop: Workshop, site: Site, transport: str) -> None:
    server = {"transport": transport, "endpoint": "http://stub.example:8765/mcp"}
    chosen = workshop.with_registry({"servers": {"orders": server}})
    agent = site.make()
    chosen.equipment().load(agent, read(manifest()))
    assert "verify" in site.tool_names(agent)


# D-71: what a failed load did is taken back


@rows("at", [1, 2, 3])
def test_a_tool_that_cannot_be_attached_takes_everything_back(workshop: Workshop, site: Site, at: int) -> None:
    agent = site.make()
    before = state_of(site, agent)
    watched = Watched(site.platform, fail={"attach_tool": once(GONE, at=at)})
    with pytest.raises(ToolUnavailable, match="does not have it"):
        workshop.equipment(watched).load(agent, read(skill("x", tool("a"), tool("b"), tool("c"))))
    assert state_of(site, agent) == before
    assert ledger(workshop, agent) is None
    assert not workshop.equipment().load(agent, read(skill("x", tool("a"), tool("b"), tool("c")))).already


@rows("call", ["tools_of", "add_text", "attach_tool"])
def test_a_platform_that_goes_down_leaves_nothing_that_the_next_call_keeps(
    workshop: Workshop, site: Site, call: str
) -> None:
    agent = site.make()
    before = state_of(site, agent)
    down = {name: always(DOWN) for name in (call, "remove_text", "detach_tool")}
    with pytest.raises(PlatformUnavailable) as refused:
        workshop.equipment(Watched(site.platform, fail=down)).load(agent, read(manifest()))
    assert refused.value.retry_after_s > 0
    workshop.equipment().unload(agent, "skill.other@1.0.0")
    workshop.equipment().load(agent, read(skill("other", tool("b"))))
    workshop.equipment().unload(agent, "skill.other@1.0.0")
    assert state_of(site, agent) == before


@rows("call", ["add_text", "attach_tool"])
@rows("at", [1, 2])
@rows("when", ["fail", "after"])
def test_a_process_that_dies_while_it_loads_is_cleaned_up_after(
    workshop: Workshop, site: Site, call: str, at: int, when: str
) -> None:
    agent = site.make()
    before = state_of(site, agent)
    expected = read(manifest(requiredTools=[tool("a"), tool("b")]))
    dying = Watched(site.platform)
    getattr(dying, when)[call] = once(Died(), at=at)
    with pytest.raises(Died):
        workshop.equipment(dying).load(agent, expected)
    workshop.expire(keys.skills(agent))
    workshop.equipment().load(agent, read(skill("other", tool("c"))))
    workshop.equipment().unload(agent, "skill.other@1.0.0")
    assert state_of(site, agent) == before, "also when the same skill is never asked for again"
    assert not workshop.equipment().load(agent, expected).already
    workshop.equipment().unload(agent, expected.manifest_id)
    assert state_of(site, agent) == before


@rows("call", ["remove_text", "detach_tool"])
def test_a_process_that_dies_while_it_unloads_is_finished_by_the_next(
    workshop: Workshop, site: Site, call: str
) -> None:
    agent = site.make()
    before = state_of(site, agent)
    workshop.equipment().load(agent, read(manifest()))
    dying = Watched(site.platform, fail={call: once(Died())})
    with pytest.raises(Died):
        workshop.equipment(dying).unload(agent, "skill.check.order@1.0.0")
    workshop.expire(keys.skills(agent))
    assert workshop.equipment().unload(agent, "skill.check.order@1.0.0").holding is not None
    assert state_of(site, agent) == before


def test_an_unload_that_the_platform_interrupts_goes_on_when_it_is_repeated(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    before = state_of(site, agent)
    workshop.equipment().load(agent, read(manifest()))
    with pytest.raises(PlatformUnavailable):
        workshop.equipment(Watched(site.platform, fail={"remove_text": once(DOWN)})).unload(
            agent, "skill.check.order@1.0.0"
        )
    workshop.equipment().unload(agent, "skill.check.order@1.0.0")
    assert state_of(site, agent) == before


# D-72 to D-75: only what the load itself created is removed


def test_unloading_one_skill_leaves_the_others_and_their_list(workshop: Workshop, site: Site) -> None:
    """D-72: the first skill owned the tracking block, so unloading it forgot all others."""
    agent, equipment = site.make(), workshop.equipment()
    before = state_of(site, agent)
    equipment.load(agent, read(manifest("a", requiredTools=[tool("one")])))
    equipment.load(agent, read(manifest("b", requiredTools=[tool("two")])))
    equipment.unload(agent, "skill.a@1.0.0")
    assert list(mirror(site, agent)) == ["skill.b@1.0.0"]
    assert site.tool_names(agent) == ["acquire_state_lease", "two"]
    equipment.unload(agent, "skill.b@1.0.0")
    assert state_of(site, agent) == before


def test_what_the_agent_had_before_is_never_removed(workshop: Workshop, site: Site) -> None:
    """D-73, D-75: foreign blocks and tools were taken for the skill's."""
    agent, equipment = site.make(), workshop.equipment()
    site.platform.attach_tool(agent, site.attachable("verify"))
    site.platform.add_text(agent, "human", "Ada")
    before = state_of(site, agent)
    equipment.load(agent, read(manifest()))
    site.platform.add_text(agent, "meanwhile", "by somebody else")
    site.platform.attach_tool(agent, site.attachable("theirs"))
    equipment.unload(agent, "skill.check.order@1.0.0")
    blocks, tools = state_of(site, agent)
    assert blocks == before[0] | {"meanwhile": "by somebody else"}
    assert tools == sorted([*before[1], "theirs"])


@rows("first", ["research.web", "research.news"])
def test_a_shared_tool_goes_with_the_last_skill_that_uses_it(workshop: Workshop, site: Site, first: str) -> None:
    """D-74: unloading one detached the tool of the other."""
    agent, equipment = site.make(), workshop.equipment()
    for name in ("research.web", "research.news"):
        equipment.load(agent, read(skill(name, tool("web_fetch"))))
    assert site.tool_names(agent).count("web_fetch") == 1
    equipment.unload(agent, f"skill.{first}@1.0.0")
    assert "web_fetch" in site.tool_names(agent)
    second = {"research.web": "research.news", "research.news": "research.web"}[first]
    equipment.unload(agent, f"skill.{second}@1.0.0")
    assert "web_fetch" not in site.tool_names(agent)


def test_a_shared_tool_that_the_agent_had_before_outlives_both_skills(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    site.platform.attach_tool(agent, site.attachable("web_fetch"))
    for name in ("a", "b"):
        equipment.load(agent, read(skill(name, tool("web_fetch"))))
    for name in ("a", "b"):
        equipment.unload(agent, f"skill.{name}@1.0.0")
    assert site.tool_names(agent) == ["acquire_state_lease", "web_fetch"]


def test_another_tool_of_the_same_name_is_refused_and_an_optional_one_left_out(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    equipment.load(agent, read(skill("a", tool("verify"))))
    before = state_of(site, agent)
    with pytest.raises(Conflict, match="'verify' is another tool of the same name"):
        equipment.load(agent, read(skill("b", tool("verify", "pricing"))))
    assert state_of(site, agent) == before
    loaded = equipment.load(agent, read(skill("c", tool("verify", "pricing", required=False))))
    assert "was left out: another skill has a different tool" in loaded.warnings[0]
    equipment.unload(agent, "skill.c@1.0.0")
    assert "verify" in site.tool_names(agent)


def test_two_versions_of_a_skill_do_not_mix_their_data(workshop: Workshop, site: Site) -> None:
    agent, equipment = site.make(), workshop.equipment()
    equipment.load(agent, read(manifest()))
    with pytest.raises(Conflict, match="brings data of the same names"):
        equipment.load(agent, read(manifest(version="2.0.0")))


@rows("when", ["fail", "after"])
def test_what_the_agent_had_before_outlives_a_process_that_dies_over_it(
    workshop: Workshop, site: Site, when: str
) -> None:
    agent = site.make()
    site.platform.attach_tool(agent, site.attachable("verify"))
    before = state_of(site, agent)
    dying = Watched(site.platform)
    getattr(dying, when)["attach_tool"] = once(Died())
    with pytest.raises(Died):
        workshop.equipment(dying).load(agent, read(manifest()))
    workshop.expire(keys.skills(agent))
    workshop.equipment().unload(agent, "skill.check.order@1.0.0")
    assert state_of(site, agent) == before


# D-77: several at once


def test_a_mirror_that_is_written_late_does_not_hide_what_came_meanwhile(workshop: Workshop, site: Site) -> None:
    agent = site.make()

    def slow(number: int) -> None:
        if number == 2:  # the mirror, with what was known before
            workshop.equipment().load(agent, read(skill("b", tool("two"))))

    workshop.equipment(Watched(site.platform, fail={"add_text": slow})).load(agent, read(skill("a", tool("one"))))
    assert set(mirror(site, agent)) == {"skill.a@1.0.0", "skill.b@1.0.0"}


def test_eight_loads_of_eight_skills_lose_nothing(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    before = state_of(site, agent)
    names = [f"s{number}" for number in range(8)]
    race(8, lambda at: workshop.equipment().load(agent, read(skill(names[at], tool("shared"), tool(f"own-{at}")))))
    assert set(mirror(site, agent)) == {f"skill.{name}@1.0.0" for name in names}
    assert site.tool_names(agent) == sorted(["acquire_state_lease", "shared", *(f"own-{at}" for at in range(8))])
    race(8, lambda at: workshop.equipment().unload(agent, f"skill.{names[at]}@1.0.0"))
    assert state_of(site, agent) == before
    assert ledger(workshop, agent) is None


def test_eight_loads_of_one_skill_attach_it_once(workshop: Workshop, site: Site) -> None:
    watched = Watched(site.platform)
    agent = site.make()
    loads = race(8, lambda _: workshop.equipment(watched).load(agent, read(manifest())))
    assert sorted(load.already for load in loads) == [False, *[True] * 7]
    assert watched.calls["attach_tool"] == 1
    assert site.tool_names(agent).count("verify") == 1


def test_loads_and_unloads_in_any_order_end_with_what_was_asked_last(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    before = state_of(site, agent)

    def restless(at: int) -> None:
        for _ in range(3):
            workshop.equipment().load(agent, read(skill(f"s{at % 4}", tool("shared"), tool(f"own-{at % 4}"))))
            workshop.equipment().unload(agent, f"skill.s{at % 4}@1.0.0")

    race(8, restless)
    for number in range(4):
        workshop.equipment().unload(agent, f"skill.s{number}@1.0.0")
    assert state_of(site, agent) == before


# D-78: permissions are enforced, before anything is attached


@rows(
    ("permissions", "granted", "setting"),
    [
        ({"egress": "internet"}, {"egress": "intranet"}, "DCF_SKILL_EGRESS"),
        ({"egress": "intranet"}, {"egress": "none"}, "DCF_SKILL_EGRESS"),
        ({"secrets": ["API_KEY", "OTHER"]}, {"secrets": frozenset({"API_KEY"})}, "DCF_SKILL_SECRETS"),
        ({"riskLevel": "critical"}, {"risk": "high"}, "DCF_SKILL_RISK"),
    ],
)
def test_a_skill_that_asks_for_more_than_is_granted_is_not_loaded(
    workshop: Workshop, site: Site, permissions: Document, granted: Document, setting: str
) -> None:
    agent, watched = site.make(), Watched(site.platform)
    with pytest.raises(Forbidden) as refused:
        workshop.equipment(watched, **granted).load(agent, read(manifest(permissions=permissions)))
    assert setting in refused.value.hint
    assert watched.total == 0
    assert ledger(workshop, agent) is None


def test_a_skill_that_asks_for_what_is_granted_is_loaded(workshop: Workshop, site: Site) -> None:
    document = manifest(permissions={"egress": "internet", "secrets": ["API_KEY"], "riskLevel": "low"})
    equipment = workshop.equipment(egress="internet", secrets=frozenset({"API_KEY"}))
    assert not equipment.load(site.make(), read(document)).already


@rows("required", [True, False])
@rows(
    ("definition", "policy"),
    [
        ({"type": "python_source", "sourceCode": "def f(): ..."}, {}),
        ({"type": "mcp_server", "serverId": "orders", "toolName": "t"}, {"mcp": False}),
        ({"type": "mcp_server", "endpointUrl": "http://evil.example/mcp", "operationId": "t"}, {}),
        ({"type": "mcp_server", "endpointUrl": "http://169.254.169.254/mcp", "operationId": "t"}, {}),
    ],
)
def test_a_kind_of_tool_that_is_switched_off_is_refused_or_left_out(
    workshop: Workshop, site: Site, definition: Document, policy: Document, required: bool
) -> None:
    agent, equipment = site.make(), workshop.equipment(**policy)
    expected = read(skill("x", {"toolName": "t", "description": "", "definition": definition, "required": required}))
    if required:
        with pytest.raises(Forbidden):
            equipment.load(agent, expected)
    else:
        assert "The optional tool 't' was left out" in equipment.load(agent, expected).warnings[0]
    assert site.tool_names(agent) == ["acquire_state_lease"]


def test_no_secret_of_the_registry_reaches_the_store(
    workshop: Workshop, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = f"canary-{secrets.token_hex(8)}"
    monkeypatch.setenv("ORDERS_KEY", secret)
    server = {
        "endpoint": "http://stub.example:8765/${ORDERS_KEY}/mcp?key=${ORDERS_KEY}",
        "headers": {"Authorization": "Bearer ${ORDERS_KEY}"},
    }
    chosen = workshop.with_registry({"servers": {"orders": server}})
    agent = site.make()
    chosen.equipment().load(agent, read(manifest()))
    for key in (keys.skills(agent), keys.agent(agent)):
        assert secret.encode() not in (read_text(workshop.world.ask, key) or b"")


def test_an_agent_that_is_not_there_is_named_and_nothing_is_kept(workshop: Workshop) -> None:
    with pytest.raises(AgentUnknown):
        workshop.equipment().load("agent-nobody", read(manifest()))
    assert ledger(workshop, "agent-nobody") is None


def test_an_agent_that_was_deleted_has_nothing_to_unload(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    workshop.equipment().load(agent, read(manifest()))
    site.platform.delete_agent(agent)
    workshop.equipment().unload(agent, "skill.check.order@1.0.0")
    assert ledger(workshop, agent) is None


def test_a_mirror_that_could_not_be_written_is_a_warning_and_is_written_later(workshop: Workshop, site: Site) -> None:
    agent = site.make()
    watched = Watched(site.platform, fail={"add_text": once(DOWN, at=3)})
    loaded = workshop.equipment(watched).load(agent, read(manifest()))
    assert "does not see the change yet" in loaded.warnings[0]
    assert MIRROR not in site.blocks(agent)
    assert workshop.equipment().load(agent, read(manifest())).already
    assert "skill.check.order@1.0.0" in mirror(site, agent)
