"""States of a repository, over a repository that is a list of commits."""

from __future__ import annotations

import pytest

from counterfoil.contracts.baselines.git import HISTORY_LIMIT, Blob, default_base, inside, missing_ref, short, states_at
from counterfoil.contracts.errors import BaselineNotFound


class ListedRepository:
    """A repository with a line of commits, newest first, each with one file whose content is the commit's hash."""

    def __init__(self, commits, refs=(), *, is_shallow=False):
        self._commits = [f"{number:040x}" for number in range(commits)]
        self._refs = dict(refs)
        self._is_shallow = is_shallow
        self.reads = 0

    def commit(self, ref):
        return self._refs.get(ref)

    def find_commits(self, refs):
        assert refs

    def is_shallow(self):
        return self._is_shallow

    def merge_base(self, first, second):
        return self._refs.get(f"{first}..{second}")

    def upstream_name(self, ref):
        return {"origin/HEAD": "origin/trunk"}[ref]

    def commits_touching(self, commit, pathspecs, *, limit):
        assert pathspecs
        start = self._commits.index(commit)
        return self._commits[start:][:limit]

    def blobs(self, commit, is_wanted):
        assert is_wanted("o.avsc")
        return [Blob("o.avsc", commit)]

    def contents(self, object_ids):
        self.reads += 1
        return {one: one.encode() for one in object_ids}


def states(repository, **options):
    return states_at(repository, f"{0:040x}", ref="main", is_schema=lambda path: path.endswith(".avsc"), **options)


def test_one_state_without_history():
    found, cut = states(ListedRepository(5))
    assert ([one.label for one in found], cut) == (["main@0000000"], "")


def test_all_states_are_read_at_once():
    repository = ListedRepository(HISTORY_LIMIT)
    found, cut = states(repository, is_transitive=True)
    assert (len(found), cut, repository.reads) == (HISTORY_LIMIT, "", 1)
    assert found[1].data("o.avsc") == f"{1:040x}".encode()


def test_a_longer_history_is_cut_and_says_so():
    found, cut = states(ListedRepository(HISTORY_LIMIT + 1), is_transitive=True)
    assert len(found) == HISTORY_LIMIT
    assert str(HISTORY_LIMIT) in cut


def test_half_a_history_is_no_answer():
    with pytest.raises(BaselineNotFound, match="fetch-depth: 0"):
        states(ListedRepository(5, is_shallow=True), is_transitive=True)


def test_the_default_branch():
    one, two = f"{1:040x}", f"{2:040x}"
    remote = ListedRepository(3, {"origin/HEAD": one, "main": two, "HEAD..origin/HEAD": one})
    assert default_base(remote) == ("origin/trunk", one)
    local = ListedRepository(3, {"master": two, "HEAD": one, "HEAD..master": two})
    assert default_base(local) == ("master", two)


@pytest.mark.parametrize(
    ("refs", "is_shallow", "said"),
    [
        ({}, False, "--against REF"),
        ({}, True, "fetch-depth: 0"),
        ({"main": "x"}, False, "no common ancestor"),
        ({"main": "x"}, True, "fetch-depth: 0"),
        ({"main": "x", "HEAD": "x", "HEAD..main": "x"}, True, "fetch-depth: 0"),
    ],
)
def test_where_there_is_no_base(refs, is_shallow, said):
    with pytest.raises(BaselineNotFound, match=said):
        default_base(ListedRepository(3, refs, is_shallow=is_shallow))


def test_a_missing_ref_says_how_to_fetch_it():
    assert "`git fetch origin release`" in str(missing_ref(ListedRepository(1), "origin/release"))


def test_paths_inside_of_folders():
    assert inside("a/b.avsc", ["a"])
    assert inside("a/b.avsc", ["x", ""])
    assert inside("a", ["a"])
    assert not inside("ab/c", ["a"])
    assert not inside("a", [])


def test_short_hashes():
    assert short("0123456789abcdef") == "0123456"
