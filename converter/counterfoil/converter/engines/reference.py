"""The conversion of one record in plain Python, which defines the result of every engine, its bytes, and its keys."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from counterfoil.converter.engines.lookup import WriterLookup, recipe_from_driver
from counterfoil.converter.engines.protocol import CONVERTED_KEY, FAILURE_TYPE, KEY, Conversion, Engine, EngineCannot
from counterfoil.converter.engines.secrets import secrets_of
from counterfoil.converter.messages.table import Packed, make_reader, make_writer, pack
from counterfoil.schema.datum import Datum
from counterfoil.schema.plans import ConversionError, FailureCode, PlanUnfinished
from counterfoil.schema.plans.derivations import resolution_conflicts
from counterfoil.schema.plans.evaluate import compile_op
from counterfoil.schema.plans.model import Op
from counterfoil.schema.plans.operands import with_keys
from counterfoil.schema.texts import counted
from counterfoil.schema.wire import ID_PREFIX_BYTES, MAGIC_ID

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# The result of a conversion as bytes: the value, or ``FF``, the number of a code, a field, ``00``, a sentence.
#
# Neither a framed value nor plain JSON begins with ``FF``. An engine that returns such bytes needs one column for both,
# and the two functions at the end make of it the columns of the engines' interface.

NUMBER_BY_CODE: Final = {code: number for number, code in enumerate(FailureCode, 1)}
"""The number of each code in a result; 0 is none."""

_FAILED: Final = b"\xff"
_END: Final = b"\x00"


def answer_of(failure: ConversionError) -> bytes:
    """Return a failure as the bytes of a result."""
    field, text = (part.encode(errors="replace") for part in (failure.field, failure.text))
    return _FAILED + bytes((NUMBER_BY_CODE[failure.code],)) + field.replace(_END, b"?") + _END + text


def parse_answer(answer: bytes) -> tuple[bytes | None, tuple[str, str, str] | None]:
    """Return the value in the bytes of a result, or the failure as code, field and text.

    >>> parse_answer(bytes([255, 1]) + b"price" + bytes([0]) + b"'x' is no number")
    (None, ('cast-failed', 'price', "'x' is no number"))
    """
    if not answer.startswith(_FAILED):
        return answer, None
    field, _, text = answer[2:].partition(_END)
    return None, (str(tuple(NUMBER_BY_CODE)[answer[1] - 1]), field.decode(), text.decode())


def converted_of(answer: str) -> Column:
    """Return the converted value in a column of results, null where there is a failure."""
    from pyspark.sql.functions import expr

    return expr(f"CASE WHEN NOT startswith({answer}, X'{_FAILED.hex()}') THEN {answer} END")


def failure_of(answer: str) -> Column:
    """Return the failure in a column of results, null where there is none."""
    from pyspark.sql.functions import expr

    codes = ", ".join(f"'{code}'" for code in NUMBER_BY_CODE)
    number = f"cast(conv(hex(substring({answer}, 2, 1)), 16, 10) AS int)"
    end = f"cast(X'{_END.hex()}' AS string)"
    rest = f"cast(substring({answer}, 3) AS string)"
    field = f"substring_index({rest}, {end}, 1)"
    text = f"substring({rest}, length({field}) + 2)"
    made = f"named_struct('code', element_at(array({codes}), {number}), 'field', {field}, 'text', {text})"
    return expr(f"CASE WHEN startswith({answer}, X'{_FAILED.hex()}') THEN cast({made} AS {FAILURE_TYPE}) END")


# The conversion of one record's value in plain Python, which defines the result of every engine.


@dataclass(frozen=True)
class Converted:
    """The outcome of one value: the new ``value``, framed, or the ``failure``; exactly one is set."""

    value: bytes | None = None
    failure: ConversionError | None = None


@dataclass(frozen=True, eq=False)
class RecordRecipe:
    """A conversion as packed schemas and operations, which can be sent to another process."""

    root: Op
    source: Packed
    target: Packed
    writer_by_id: tuple[tuple[int, Packed], ...]
    target_id: int | None
    unframed_id: int | None

    @cached_property
    def digest(self) -> bytes:
        """A hash that is equal for equal recipes."""
        return hashlib.sha256(self.packed).digest()

    @cached_property
    def packed(self) -> bytes:
        """The recipe as bytes, from which :func:`converter_of` makes a converter."""
        return pickle.dumps((self.root, self.source, self.target, self.writer_by_id, self.target_id, self.unframed_id))


def recipe_of(conversion: Conversion) -> RecordRecipe:
    """Return the recipe of a conversion.

    Raises ``PlanUnfinished`` for a plan with problems, ``SecretMissing`` for a hash without its secret, which is read
    here, and ``EngineCannot`` when a writer's value would have another
    meaning as the source's, such as a timestamp whose unit changed.
    """
    plan = conversion.plan
    if plan.problems:
        raise PlanUnfinished(tuple(str(problem) for problem in plan.problems))
    for schema_id, writer in conversion.writer_by_id.items():
        for path, why in resolution_conflicts(writer, plan.source):
            raise EngineCannot("reference", field=f"{path} (schema id {schema_id})", why=why)
    secrets = secrets_of(plan.root)
    root = with_keys(plan.root, secrets.__getitem__) if secrets else plan.root
    return RecordRecipe(
        root,
        pack(plan.source),
        pack(plan.target),
        tuple((schema_id, pack(writer)) for schema_id, writer in sorted(conversion.writer_by_id.items())),
        conversion.target_id,
        conversion.unframed_id,
    )


class RecordConverter:
    """Converts one value after the other. May be used from many threads."""

    def __init__(self, recipe: RecordRecipe) -> None:
        self._unframed_id = recipe.unframed_id
        self._ids = tuple(schema_id for schema_id, _ in recipe.writer_by_id)
        self._read = make_reader(recipe.source, dict(recipe.writer_by_id))
        self._evaluate: Callable[[Datum], Datum] = compile_op(recipe.root, "")
        self._write = make_writer(recipe.target, recipe.target_id)

    def convert_value(self, data: bytes) -> Converted:
        """Convert a value to the target's bytes, with the target's frame, and return them or the failure."""
        try:
            return Converted(value=self.convert(data))
        except ConversionError as failure:
            return Converted(failure=failure)

    def convert(self, data: bytes) -> bytes:
        """Convert a value and return the target's bytes, with its frame. Raises ``ConversionError``."""
        return self._write(self._evaluate(self._decoded(data)))

    def _decoded(self, data: bytes) -> Datum:
        if self._unframed_id is not None:
            return self._read(self._unframed_id, data, 0)
        if len(data) < ID_PREFIX_BYTES or data[0] != MAGIC_ID:
            size = counted(len(data), "byte")
            text = f"{size} beginning with {data[:1].hex() or 'nothing'} are no id frame of magic byte 00"
            raise ConversionError(FailureCode.NOT_FRAMED, "", text)
        schema_id = int.from_bytes(data[1:ID_PREFIX_BYTES])
        if schema_id not in self._ids:
            text = f"schema id {schema_id} is none of {', '.join(map(str, self._ids))}"
            raise ConversionError(FailureCode.UNKNOWN_SCHEMA_ID, "", text)
        return self._read(schema_id, data, ID_PREFIX_BYTES)


@lru_cache(maxsize=8)
def converter_of(packed: bytes) -> RecordConverter:
    """Return the converter of a packed recipe; it is made once in each process."""
    return RecordConverter(RecordRecipe(*pickle.loads(packed)))  # noqa: S301 - these bytes come from our own driver


# The engine ``reference``: the reference evaluator, in Spark's Python workers.
#
# It is slower than the engine ``java``, and can carry out every plan.


class ReferenceEngine:
    """Carries out the plan with :func:`counterfoil.schema.plans.evaluate`, one value at a time."""

    name = "reference"

    def __init__(self, conversion: Conversion) -> None:
        self._recipe = recipe_of(conversion)
        self._lookup = conversion.lookup
        self._converter = converter_of(self._recipe.packed)

    def convert_value(self, data: bytes) -> Converted:
        """Convert one value without Spark."""
        return self._converter.convert_value(data)

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted`` and ``failure``."""
        from pyspark.sql.functions import col

        lookup = self._lookup() if self._lookup else None
        answered = records.withColumn("_answer", answer_column(self._recipe.packed, col("value"), lookup))
        return (
            answered.withColumn("converted", converted_of("_answer"))
            .withColumn("failure", failure_of("_answer"))
            .drop("_answer")
        )


def answer_column(packed: bytes, values: Column, lookup: WriterLookup | None) -> Column:
    """Return a column of the reference evaluator's results, as bytes; null for null."""
    from pyspark.sql.functions import pandas_udf

    return pandas_udf(answers(packed, lookup), "binary")(values)


def answers(packed: bytes, lookup: WriterLookup | None = None) -> Callable[..., Any]:
    """Return the function that workers run on a batch of values."""
    import pandas as pd

    def answer_batch(values: pd.Series) -> pd.Series:

        present = values.notna()
        if present.any():
            values[present] = [answer(packed, value, lookup) for value in values[present]]
        return values

    answer_batch.__annotations__ = {"values": pd.Series, "return": pd.Series}
    return answer_batch


def answer(packed: bytes, data: bytes, lookup: WriterLookup | None = None) -> bytes:
    """Return the converted value, or the failure as bytes; ``lookup`` has the recipes of other schema ids."""
    value = bytes(data)
    try:
        return converter_of(packed).convert(value)
    except ConversionError as failure:
        if lookup is not None and failure.code is FailureCode.UNKNOWN_SCHEMA_ID:
            other = recipe_from_driver(lookup, int.from_bytes(value[1:ID_PREFIX_BYTES]))
            if other is not None:
                return answer(other, value)
        return answer_of(failure)


# Bridges that convert keys: a conversion for keys beside that for values, each with an engine of its own.


class KeyedEngine:
    """Converts keys with one engine, then values with another; a key that cannot be converted fails the record."""

    def __init__(self, values: Engine, keys: Engine) -> None:
        self._values = values
        self._keys = keys
        self.name = values.name if values.name == keys.name else f"{values.name} (keys: {keys.name})"

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted_key``, ``converted`` and ``failure``."""
        from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

        kept = list(records.columns)
        keyed = _renamed(
            self._keys.convert(_renamed(records, value="_value", key="value")),
            _value="value", value="key", converted=CONVERTED_KEY, failure="_key_failure",
        )  # fmt: skip
        made = self._values.convert(keyed)
        is_sound = F.col("_key_failure").isNull()
        return made.select(
            *kept,
            F.when(is_sound, F.col("converted")).alias("converted"),
            F.when(is_sound, F.col("failure")).otherwise(F.expr(_FAILURE)).alias("failure"),
            F.when(is_sound, F.col(CONVERTED_KEY)).alias(CONVERTED_KEY),
        )


_FAILURE = (
    "cast(named_struct('code', _key_failure.code, "
    f"'field', concat('{KEY}', if(_key_failure.field = '', '', '.'), _key_failure.field), "
    f"'text', _key_failure.text) AS {FAILURE_TYPE})"
)


def _renamed(records: DataFrame, **names: str) -> DataFrame:
    return records.select(*(records[each].alias(names.get(each, each)) for each in records.columns))


KeyConverter: TypeAlias = Callable[[bytes | None], Converted]
"""Returns the new key of a record, or the failure; a missing key stays missing."""


def copied_key(key: bytes | None) -> Converted:
    """Return the key as it is: the converter of a bridge that copies keys."""
    return Converted(value=key)


def key_converter(keys: ReferenceEngine) -> KeyConverter:
    """Return the function that converts keys with the reference evaluator."""

    def convert(key: bytes | None) -> Converted:
        if key is None:
            return Converted()
        outcome = keys.convert_value(key)
        if outcome.failure is None:
            return outcome
        field = f"{KEY}.{outcome.failure.field}" if outcome.failure.field else KEY
        return Converted(failure=ConversionError(outcome.failure.code, field, outcome.failure.text))

    return convert
