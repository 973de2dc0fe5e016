"""What is shown of many open states inside Parallel and Map."""

from dcf.runs.views.inner_states import pick, tree

WIDE = [f"Each/{index}/Score" for index in reversed(range(40))]


def shown(paths: list[str], **limits: int) -> list[str]:
    picked = pick(paths, **{"each": 3, "most": 100} | limits)
    roots = dict.fromkeys(path.partition("/")[0] for path in paths)
    return ["  " * row.depth + row.label for row in tree([*roots, *picked.paths], picked.more)]


def test_the_first_iterations_of_a_wide_map_are_shown_and_the_others_counted() -> None:
    assert shown(WIDE) == ["Each", "  0 Score", "  1 Score", "  2 Score", "  and 37 more"]


def test_all_is_shown_where_it_is_little() -> None:
    assert shown(WIDE[-3:]) == ["Each", "  0 Score", "  1 Score", "  2 Score"]


def test_what_is_inside_stands_below_its_scope() -> None:
    paths = ["Each/10/Both", "Each/10/Both/1/Right", "Each/10/Both/0/Left", "Each/9/Both", "Other/0/Way"]
    assert shown(paths) == ["Each", "  9 Both", "  10 Both", "    0 Left", "    1 Right", "Other", "  0 Way"]


def test_each_map_inside_a_map_is_cut_by_itself() -> None:
    inner = [f"Rows/{row}/Cells/{cell}/Fill" for row in range(2) for cell in range(3)]
    code = shown([*inner, "Rows/0/Cells", "Rows/1/Cells"], each=2)
    below = ["    0 Fill", "    1 Fill", "    and 1 more"]
    assert code == ["Rows", "  0 Cells", *below, "  1 Cells", *below]


def test_no_more_is_shown_than_there_is_room_for() -> None:
    paths = [path for row in range(9) for path in (f"Rows/{row}/Cells", f"Rows/{row}/Cells/0/Fill")]
    assert shown(paths, each=9, most=4) == [
        "Rows",
        "  0 Cells",
        "    0 Fill",
        "  1 Cells",
        "    0 Fill",
        "  and 7 more",
    ]


def test_a_state_with_a_slash_in_its_name_is_shown_by_its_name() -> None:
    assert [row.label for row in tree(["a%2Fb", "a%2Fb/0/c%2Fd"], {})] == ["a/b", "0 c/d"]
