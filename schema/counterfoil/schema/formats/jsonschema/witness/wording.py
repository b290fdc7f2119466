"""The descriptions of the place and the reason of a failure."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.canonical import print_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.jsonschema.witness.validator import Failure

_WORDS_BY_KEYWORD: Final = {
    "type": "the reader expects {limit}",
    "enum": "the value is none of {limit}",
    "const": "the value is not {limit}",
    "minimum": "the number is beyond the minimum {limit}",
    "maximum": "the number is beyond the maximum {limit}",
    "exclusiveMinimum": "the number is not above {limit}",
    "exclusiveMaximum": "the number is not below {limit}",
    "multipleOf": "the number is no multiple of {limit}",
    "minLength": "the string is shorter than {limit}",
    "maxLength": "the string is longer than {limit}",
    "pattern": "the string does not match {limit}",
    "minItems": "the array has fewer items than {limit}",
    "maxItems": "the array has more items than {limit}",
    "uniqueItems": "two items are equal",
    "contains": "no item, or not the right number of them, is as the reader asks",
    "items": "the item may not be there",
    "additionalItems": "there are more items than the reader knows",
    "unevaluatedItems": "there are more items than the reader knows",
    "required": "a property that the reader requires is not there",
    "minProperties": "the object has fewer properties than {limit}",
    "maxProperties": "the object has more properties than {limit}",
    "additionalProperties": "the reader does not allow a property that it does not know",
    "unevaluatedProperties": "the reader does not allow a property that it does not know",
    "propertyNames": "the name of a property is not as the reader asks",
    "dependencies": "a property is there without another that the reader asks for with it",
    "dependentRequired": "a property is there without another that the reader asks for with it",
    "not": "the value is as the reader says that it must not be",
    "anyOf": "the value fits no branch of the reader's anyOf",
    "oneOf": "the value does not fit exactly one branch of the reader's oneOf",
}


def step_in_words(failure: Failure) -> Sentence:
    """Return the place of a failure and its reason: ``property a, item 0: the string is longer than 5``."""
    way = way_in_words(failure.path)
    reason = "nothing is valid there" if failure.limit is False else _WORDS_BY_KEYWORD.get(failure.keyword)
    if failure.keyword in ("additionalProperties", "unevaluatedProperties", "uniqueItems", "items", "additionalItems"):
        reason = _WORDS_BY_KEYWORD[failure.keyword]
    template = reason or "the reader's {keyword} is not kept"
    facts = {"way": way, "keyword": failure.keyword, "limit": _shown(failure.limit)}
    return Sentence.of(f"{{way}}: {template}" if way else template, facts)


def way_in_words(path: Sequence[str | int]) -> str:
    """Return the description of a place in a value: ``property a, item 0``."""
    return ", ".join(f"item {step}" if isinstance(step, int) else f"property {step}" for step in path)


def value_text(value: Any) -> str:
    """Return a value as JSON text, with exact numbers."""
    return print_exact(value)


def _shown(value: Any) -> str:
    return excerpt(print_exact(value) if isinstance(value, dict | list | Decimal | str) else json.dumps(value))
