"""The functions of the test kit, for the contracts of the run of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.contracts.testkit.session import SESSION
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import needed_by
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from counterfoil.contracts.generate.library import FoundContract


def assert_produces(contract: FoundContract | str, value: object, *, key: object = ..., headers: object = ...) -> None:
    """Check that a record keeps a contract: its schema, ranges, values, patterns, rules in CEL, key and headers.

    ``contract`` is the fixture of that name, or an id, a topic or the path of a file. ``value`` is what the program's
    serializer gets: a dict, an object of a typed model, a Protobuf message. ``key`` and ``headers`` are checked if they
    are given; headers are a dict or pairs. Raises ``BrokenPromise``, an ``AssertionError`` that names field, rule and
    value.
    """
    from counterfoil.contracts.testkit.producing import assert_produces_of

    assert_produces_of(SESSION, contract, value, key=key, headers=headers)


def from_contract(contract: str, *, topic: str | None = None) -> SearchStrategy[Datum]:
    """Return a Hypothesis strategy for the values of a contract's topic, as deserializers return them.

    Ranges, enums, patterns and required fields narrow them, and rules in CEL hold. ``contract`` is an id, a topic or
    the path of a file; it is read before the first value is drawn. Raises ``MissingExtra`` without Hypothesis, which
    the extra ``testing`` installs.
    """
    with needed_by("from_contract()", extra="testing"):
        from hypothesis import strategies as st

    def strategy() -> SearchStrategy[Datum]:
        from counterfoil.contracts.testkit.strategies import values_of_contract

        found = SESSION.library().find(contract, topic)

        def seen(value: object) -> Any:
            recorder = SESSION.recorder
            return value if recorder is None else recorder.recorded(found.id, found.examples, value)

        return values_of_contract(found, seen)

    # Hypothesis asks the parts of a choice whether they are empty before it draws: everything is loaded then, and not
    # in the first draw, whose time it limits.
    return st.one_of(st.deferred(strategy), st.nothing())


def from_schema(
    text: str,
    format: str | SchemaType = SchemaType.AVRO,  # noqa: A002 - the word that vectors have
    *,
    message: str | None = None,
) -> SearchStrategy[Datum]:
    """Return a Hypothesis strategy for the values of a schema, as deserializers return them.

    ``format`` is AVRO, JSON or PROTOBUF. ``message`` is the full name of a Protobuf message type, without which it is
    the first of the file. Raises ``InvalidSchema``, and ``MissingExtra`` as :func:`from_contract`.
    """
    with needed_by("from_schema()", extra="testing"):
        from counterfoil.contracts.testkit.strategies import schema_values

    return schema_values(text, SchemaType(str(format).upper()), message)
