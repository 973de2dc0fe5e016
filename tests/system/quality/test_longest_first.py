"""The order in which the files of the second tier begin."""

from tests.system.conftest import HERE, LONGEST_FIRST


def test_every_file_that_begins_early_is_there() -> None:
    assert [name for name in LONGEST_FIRST if not (HERE / name).is_file()] == []
