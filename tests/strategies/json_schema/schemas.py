"""JSON schemas of every draft, and JSON values, for Hypothesis."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

DRAFTS = {
    "http://json-schema.org/draft-04/schema#": False,
    "http://json-schema.org/draft-06/schema#": False,
    "http://json-schema.org/draft-07/schema#": False,
    "https://json-schema.org/draft/2019-09/schema": True,
    "https://json-schema.org/draft/2020-12/schema": True,
}
"""The URI of each draft, and whether it is one of the newer two."""

NAMES = st.sampled_from(["a", "b", "id", "x-1", "name", "é"])
PATTERNS = st.sampled_from(["^x-", "b$", "[0-9]+", "^(a|b)c?$"])
COUNTS = st.integers(0, 4)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -1.5])
    | st.text('ab"\\\u00e9\x1f', max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
"""Any JSON value, small."""


@st.composite
def json_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Return a valid schema of some draft, as a value; keys in any order."""
    uri = draw(st.sampled_from([None, *DRAFTS]))
    schema = draw(_schema(is_draft_4=uri == next(iter(DRAFTS)), is_modern=bool(uri and DRAFTS[uri])))
    document = {**({"$schema": uri} if uri else {}), **(schema if isinstance(schema, dict) else {})}
    return dict(draw(st.permutations([*document.items()])))


@st.composite
def json_schema_texts(draw: st.DrawFn) -> str:
    """Return the text of a valid schema, in one of several spellings."""
    schema = draw(json_schemas())
    indent = draw(st.sampled_from([None, 0, 2]))
    return json.dumps(schema, indent=indent, ensure_ascii=draw(st.booleans()))


@cache  # Hypothesis examines a strategy when it is used for the first time, which takes longer than most draws
def _schema(*, is_draft_4: bool, is_modern: bool) -> st.SearchStrategy[Any]:
    leaf: st.SearchStrategy[Any] = st.just({}) if is_draft_4 else st.just({}) | st.booleans()
    scalars = st.one_of(
        leaf,
        st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": COUNTS, "pattern": PATTERNS}),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["integer", "number"])},
            optional={"minimum": st.integers(-3, 3), "multipleOf": st.sampled_from([1, 2, 0.5])},
        ),
        st.fixed_dictionaries({"enum": st.lists(json_values, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"type": st.lists(st.sampled_from(["null", "string", "boolean"]), min_size=1, unique=True)}
        ),
    )
    return st.recursive(scalars, lambda inner: _compound(inner, is_modern=is_modern), max_leaves=6)


def _compound(inner: st.SearchStrategy[Any], *, is_modern: bool) -> st.SearchStrategy[Any]:
    schemas = st.lists(inner, min_size=1, max_size=3)
    objects = st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, min_size=1, max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "patternProperties": st.dictionaries(PATTERNS, inner, max_size=1),
            "maxProperties": COUNTS,
        },
    )
    prefix = {"prefixItems": schemas} if is_modern else {}
    arrays = st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={"items": inner, "uniqueItems": st.booleans(), "minItems": COUNTS, **prefix},
    )
    combined = st.one_of(*(st.fixed_dictionaries({name: schemas}) for name in ("allOf", "anyOf", "oneOf")))
    refused = st.fixed_dictionaries({"not": inner})
    return st.one_of(objects, arrays, combined, refused)
