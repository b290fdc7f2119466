"""Random rules of access, patterns, and resources, for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from counterfoil.registry.domain.access.operations import Operation
from counterfoil.registry.domain.access.patterns import parse_pattern
from counterfoil.registry.domain.access.resources import REGISTRY, Kind, Resource
from counterfoil.registry.domain.access.rules import EVERYBODY, Rule, administrator

ALICE = "User:alice"
PRINCIPALS = (ALICE, "Group:payments", EVERYBODY)
NAMES = st.text("ab-*\\", min_size=1, max_size=4)
PATTERN_TEXTS = st.one_of(
    st.just("registry"),
    st.sampled_from(["context:.", "context:.c", "context:*", "kek:*", "kek:a", "bridge:a*"]),
    st.builds("{}{}".format, st.sampled_from(["", ":.c:", ":*:", ":.c*:"]), NAMES),
)
PATTERNS = PATTERN_TEXTS.map(parse_pattern)
OPERATIONS = st.sampled_from(Operation)
RULES = st.builds(
    Rule,
    principal=st.sampled_from([*PRINCIPALS, "User:bob"]),
    allows=st.booleans(),
    operations=st.frozensets(OPERATIONS, min_size=1, max_size=3),
    pattern=PATTERNS,
)
FINAL = st.builds(administrator, st.sampled_from([ALICE, "User:bob"]))
RULE_LISTS = st.lists(RULES, max_size=6) | st.lists(RULES | FINAL, max_size=6)
SUBJECT_NAMES = st.text("ab-*\\", min_size=1, max_size=4)
RESOURCES = st.one_of(
    st.just(REGISTRY),
    st.builds(Resource, st.just(Kind.SUBJECT), SUBJECT_NAMES, st.sampled_from([".", ".c", ".d"])),
    st.builds(Resource, st.just(Kind.CONTEXT), st.just(""), st.sampled_from([".", ".c"])),
    st.builds(Resource, st.sampled_from([Kind.KEK, Kind.BRIDGE]), SUBJECT_NAMES),
)
