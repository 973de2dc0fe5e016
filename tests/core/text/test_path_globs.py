"""Areas are globs wherever they are compared: with each other, and with the paths of files."""

from dcf.core.text.path_globs import covers, outside, overlap


def test_areas_overlap_where_a_file_may_be_in_both() -> None:
    for first, other in (
        ("src", "src/a/b.py"),
        ("src/**", "src"),
        ("**/*.md", "docs/guide.md"),
        ("**/*.md", "docs"),
        ("src/*/x.py", "src/a/*.py"),
        ("a*c", "ab*"),
        ("SRC/Api", "src/api/x"),
    ):
        assert overlap(first, other), (first, other)
        assert overlap(other, first), (other, first)
    for first, other in (
        ("src", "docs"),
        ("src/*.py", "src/a/b.py"),
        ("*.md", "*.py"),
        ("a/x*", "a/y*"),
        ("srcs", "src"),
    ):
        assert not overlap(first, other), (first, other)
        assert not overlap(other, first), (other, first)


def test_an_area_covers_files_as_a_glob_or_as_a_directory() -> None:
    for area, path in (
        ("src/**", "src/a/b.py"),
        ("src", "src/a.py"),
        ("src/", "src/a.py"),
        ("./src/*.py", "src/a.py"),
        ("**/*.md", "README.md"),
        ("SRC/**", "src/A.py"),
        ("app/[id]/**", "app/[id]/page.tsx"),
    ):
        assert covers(area, path), (area, path)
    for area, path in (
        ("src", "lib/src.py"),
        ("src/*.py", "src/a/b.py"),
        ("api", "src/api/x.py"),
        ("src/a.py", "src/a.pyc"),
        ("src/*/b.py", "src/b.py"),
    ):
        assert not covers(area, path), (area, path)


def test_without_areas_no_file_lies_outside() -> None:
    assert outside(["a.py"], []) == []
    assert outside(["src/a.py", "b.py"], ["src/**"]) == ["b.py"]
