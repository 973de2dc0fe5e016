"""Keys: every name has one, no two names share one, and whatever a workflow calls its states works on the server."""

from hypothesis import given
from hypothesis import strategies as st

from dcf.asl.state_paths import path_of
from dcf.core.documents.answers import Leased, NothingReady
from dcf.store.keys.kinds import KEY_KINDS
from dcf.store.keys.parts import decode_state, encode_state
from dcf.store.keys.table import RunKeys
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
PATHS = st.text(min_size=1, max_size=80)
TRICKY = st.text(alphabet=':/%{}*?[]ABa0\\"25\n\x7f', min_size=1, max_size=8)
NAMES = [
    "Zwölf Übel",
    "状態",
    "emoji 🎉",
    'quo"te',
    "it's",
    "back\\slash",
    'both\\"',
    "per%cent%41",
    "co:lon:meta",
    "sl/ash",
    "{brace}",
    "[0]",
    "a*b?c",
    "$.path['x']",
    "..",
    " spaces ",
    "  ",
    "x" * 80,
]


def all_keys(run: RunKeys, state: str) -> list[str]:
    own = [run.state(state), run.input(state), run.entry(state), run.output(state)]
    return [*own, run.meta, run.definition, run.events, run.outbox, run.timers, run.audit]


@given(st.lists(TRICKY.filter(bool), min_size=1, max_size=5).map(path_of))
def test_an_encoded_state_decodes_to_the_same_path(path: str) -> None:
    assert decode_state(encode_state(path)) == path


@given(PATHS | TRICKY)
def test_nothing_in_an_encoded_state_has_a_meaning_in_a_key_or_a_pattern(path: str) -> None:
    assert not set(":{}*?[]\n\x00\x7f") & set(encode_state(path))


@given(st.tuples(IDS, TRICKY), st.tuples(IDS, TRICKY))
def test_no_two_states_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    mine = RunKeys(one[0]), one[1]
    yours = RunKeys(other[0]), other[1]
    assert len(set(all_keys(*mine))) == 10
    if one[0] != other[0]:
        assert not set(all_keys(*mine)) & set(all_keys(*yours))
    elif one[1] != other[1]:
        assert not set(all_keys(*mine)[:4]) & set(all_keys(*yours)[:4])


def test_a_state_named_like_another_key_does_not_become_it() -> None:
    """D-26: workflow_id X with state Y:meta, and workflow_id X:state:Y, shared a key."""
    run = RunKeys("X")
    assert run.state("Y:meta") == "cp:wf:X:state:Y%3Ameta"
    assert run.output("a:finalize") not in {run.audit, RunKeys("X:output:a").audit}


@given(IDS, PATHS | TRICKY)
def test_every_key_of_a_run_is_listed(workflow_id: str, path: str) -> None:
    run = RunKeys(workflow_id)
    others = {"of", "every", "workflow_id", "taking"}  # the last expires
    named = [getattr(run, name) for name in dir(RunKeys) if name not in others and name[0] != "_"]
    made = {key(path) if callable(key) else key for key in named}
    made |= {run.of(kind) for kind in ("artifacts", "shelf", "uploads", "content")}  # those of `artifacts/keys.py`
    assert len(made) == len(KEY_KINDS) - 1
    assert made == set(run.every([path], [path], [path]))
    assert made < set(run.every([path, "other"], [path], [path]))


@rows("name", NAMES)
def test_any_name_of_a_state_works_end_to_end(real: World, name: str) -> None:
    run = real.create(
        chain(name, "Last"), agents={name: (f"a-{len(name)}", "other"), "Last": "z"}, run_input={"n": name}
    )
    assert real.meta(run)["agents"][name] == [f"a-{len(name)}", "other"]
    assert isinstance(real.claim(run, "stranger"), NothingReady), "the assignment is found under this name"
    claimed = real.claim(run, f"a-{len(name)}")
    assert isinstance(claimed, Leased)
    path = path_of([name])
    assert (claimed.state, claimed.given) == (path, {"n": name})
    token = claimed.doc.lease.token
    assert token is not None
    real.release(run, name, token)
    refused = real.try_acquire(run, name, "stranger")
    assert getattr(refused, "code", None) == "owner_mismatch"
    answer = real.complete(run, name, real.acquire(run, name, "other"), {"from": name})
    assert answer.next_states == ("Last",)
    assert real.output(run, name) == {"from": name}
    assert list(real.doc(run, "Last").waits_for) == [path]
    assert {event.state for event in real.events(run)} == {None, path, "Last"}
    real.make_due(run, "Last")
    real.notifications.pulse()
    (event, *_) = real.messages("z")[-1:]
    assert event["source_state"] in {path, None}


def test_a_name_that_begins_with_a_space_has_its_own_agents(world: World) -> None:
    run = world.create(chain(" A", "A"), agents={" A": "spaced", "A": "plain"})
    assert isinstance(world.claim(run, "plain"), NothingReady)
    world.complete(run, " A", world.acquire(run, " A", "spaced"), claim_ttl_s=60)
    assert world.doc(run, "A").lease.token is None, "only 'plain' may take A"
    world.acquire(run, "A", "plain")


def test_a_name_that_begins_with_a_space_and_has_no_agents_is_everybodys(real: World) -> None:
    run = real.create(chain(" A", "A"), agents={"A": "plain"})
    assert isinstance(real.claim(run, "anybody"), Leased)


def test_names_that_differ_by_case_or_by_encoding_are_different_states(real: World) -> None:
    names = ("a", "A", "%41", "%2541", "a b", "a%20b")
    run = real.create(chain(*names))
    for name in names:
        real.do(run, name, output=name)
    assert [real.output(run, name) for name in names] == list(names)
