"""A packet for several nodes: what may depend on something before it waits for it, all else goes at once."""

from hypothesis import given
from hypothesis import strategies as st

from dcf.store.cluster.stages import in_transaction, owners, stages
from dcf.store.connection.commands import Command

TIME: Command = ("TIME",)
READ: Command = ("GET", "k")
ENTRY: Command = ("ZADD", "k", 1, "m")
WRITE: Command = ("SET", "k", "v")
TRANSACTION: tuple[Command, ...] = (("MULTI",), ("SET", "k", "v"), ("EXEC",))
SEARCH: Command = ("EVAL", "return 1", 1, "k")


def sent(commands: list[Command], nodes: str) -> list[dict[str, list[int]]]:
    return list(stages(commands, list(nodes)))


def test_reads_of_all_nodes_go_at_once() -> None:
    assert sent([READ, READ, READ], "aba") == [{"a": [0, 2], "b": [1]}]


def test_entries_of_lists_go_at_once_and_the_commit_that_they_announce_after_them() -> None:
    packet = [ENTRY, ENTRY, *TRANSACTION, READ]
    assert sent(packet, "bcaaaa") == [{"b": [0], "c": [1]}, {"a": [2, 3, 4, 5]}]


def test_what_is_all_for_one_node_is_one_stage_in_its_order() -> None:
    assert sent([ENTRY, *TRANSACTION, WRITE, READ], "aaaaaa") == [{"a": [0, 1, 2, 3, 4, 5]}]


def test_a_write_waits_for_one_of_another_node() -> None:
    assert sent([WRITE, WRITE], "ab") == [{"a": [0]}, {"b": [1]}]
    assert sent([WRITE, READ], "ab") == [{"a": [0]}, {"b": [1]}]


def test_the_same_script_for_several_lists_goes_at_once_and_others_do_not() -> None:
    other: Command = ("EVAL", "return 2", 1, "k")
    assert sent([SEARCH, SEARCH], "ab") == [{"a": [0], "b": [1]}]
    assert sent([SEARCH, other], "ab") == [{"a": [0]}, {"b": [1]}]
    assert sent([READ, SEARCH, SEARCH], "aab") == [{"a": [0, 1]}, {"b": [2]}]


def test_a_command_without_keys_goes_with_its_neighbour() -> None:
    assert owners([TIME, READ], [None, 7]) == [7, 7]
    assert owners([READ, TIME], [7, None]) == [7, 7]
    assert owners([TIME], [None]) == [None]
    assert owners([WRITE, ("WAIT", 1, 100), READ], [7, None, 8]) == [7, 7, 8]
    assert owners([READ, *TRANSACTION, READ], [8, None, 7, None, 9]) == [8, 7, 7, 7, 9]


def test_a_transaction_is_told_apart() -> None:
    assert in_transaction([ENTRY, *TRANSACTION, READ]) == {1, 2, 3}


@given(st.lists(st.tuples(st.sampled_from([READ, ENTRY, WRITE, SEARCH]), st.sampled_from("abc")), max_size=30))
def test_every_command_is_sent_once_and_each_node_has_its_order(given: list[tuple[Command, str]]) -> None:
    commands, nodes = [item for item, _ in given], [node for _, node in given]
    result = list(stages(commands, nodes))
    assert sorted(at for stage in result for places in stage.values() for at in places) == list(range(len(given)))
    for node in "abc":
        order = [at for stage in result for at in stage.get(node, [])]
        assert order == sorted(order)
        assert all(nodes[at] == node for at in order)
    reached = -1
    for stage in result:  # a write is never before or together with its predecessor at another node
        for places in stage.values():
            for at in places:
                if commands[at] == WRITE:
                    assert at > reached
                    assert len(stage) == 1
        reached = max(at for places in stage.values() for at in places)
