"""Globs of project files: what matches, beside a second meaning of them, and that a search is short."""

from __future__ import annotations

import fnmatch
import random

import pytest

from counterfoil.contracts.project.model import is_match

STEPS = ("**", "*", "a", "b", "a*", "*a", "*a*b*", "?", "[ab]", "[!a]", "a?b", "*.a", "a**b", "*[*b]a*")


def _matches(steps: list[str], folders: list[str]) -> bool:
    """Return whether a glob matches a path, step by step, as it is written."""
    if not steps:
        return not folders
    if steps == ["**"]:
        return bool(folders)
    if steps[0] == "**":
        return any(_matches(steps[1:], folders[at:]) for at in range(len(folders) + 1))
    return bool(folders) and fnmatch.fnmatchcase(folders[0], steps[0]) and _matches(steps[1:], folders[1:])


@pytest.mark.slow
def test_a_glob_matches_what_it_matches_step_by_step():
    rng = random.Random(5)
    matched = 0
    for _ in range(3_000):
        steps = rng.choices(STEPS, k=rng.randint(1, 6))
        folders = ["".join(rng.choices("ab.*", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
        expected = _matches(steps, folders)
        assert is_match("/".join(folders), ["/".join(steps)]) is expected, (steps, folders)
        matched += expected
    assert matched > 50


@pytest.mark.timeout(60)  # each took longer than the universe is old
@pytest.mark.parametrize(
    ("path", "glob"),
    [
        ("a/" * 60 + "c", "**/a/" * 30 + "b"),
        ("a" * 200, "*a" * 60 + "b"),
        ("a/" * 200 + "c", "**/" * 100 + "b"),
        ("a/" * 200 + "c", "**/*a*/" * 50 + "**/b"),
    ],
)
def test_many_wildcards_do_not_make_a_search_long(path: str, glob: str):
    assert not is_match(path, [glob])
    assert is_match(f"{path}/b", [glob, "**/b"])
