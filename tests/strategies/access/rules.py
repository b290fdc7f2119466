"""Random rules of access, patterns, and resources, for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, ResourceKind
from counterfoil.registry.access.rules import EVERYBODY, AccessRule, administrator, parse_pattern

ALICE = "User:alice"
PRINCIPALS = (ALICE, "Group:payments", EVERYBODY)
NAMES = st.text("ab-*\\", min_size=1, max_size=4)
PATTERN_TEXTS = st.one_of(
    st.just("registry"),
    st.sampled_from(["context:.", "context:.c", "context:*", "kek:*", "kek:a", "bridge:a*"]),
    st.builds("{}{}".format, st.sampled_from(["", ":.c:", ":*:", ":.c*:"]), NAMES),
)
PATTERNS = PATTERN_TEXTS.map(parse_pattern)
OPERATIONS = st.sampled_from(AccessOperation)
RULES = st.builds(
    AccessRule,
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
    st.builds(AccessResource, st.just(ResourceKind.SUBJECT), SUBJECT_NAMES, st.sampled_from([".", ".c", ".d"])),
    st.builds(AccessResource, st.just(ResourceKind.CONTEXT), st.just(""), st.sampled_from([".", ".c"])),
    st.builds(AccessResource, st.sampled_from([ResourceKind.KEK, ResourceKind.BRIDGE]), SUBJECT_NAMES),
)
