"""The engine ``java`` beside the reference: the compiled class of a plan, called in batches without a query."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.converter.engines.java.engine import JavaEngine
from counterfoil.converter.engines.java.generator import load_plan
from counterfoil.converter.engines.reference import ReferenceEngine, parse_answer

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion

Answer: TypeAlias = "tuple[bytes | None, tuple[str, str] | None]"
Convert: TypeAlias = Callable[[Any, list[bytes]], list[Answer]]


def compiled(spark: Any) -> Convert:
    """Return a function that converts values with the compiled class of a conversion."""
    jvm = spark._jvm
    loader_by_package: dict[str, Any] = {}

    def loader(text: str, parent: Any) -> Any:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(parent)
        compiler.cook(text)
        return compiler.getClassLoader()

    def run(conversion: Conversion, values: list[bytes]) -> list[Answer]:
        engine = JavaEngine(conversion)
        source = engine.source
        above = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        for each in source.uses:
            if each.package not in loader_by_package:
                loader_by_package[each.package] = loader(each.text, above)
            above = loader_by_package[each.package]
        plan = load_plan(jvm, loader(source.text, above), source)
        for name, key in engine.secrets.items():
            plan.setSecret(name, key.hex())
        return list(_answers(plan.convertAll(b"".join(struct.pack(">i", len(value)) + value for value in values))))

    return run


def _answers(made: bytes) -> Any:
    place = 0
    while place < len(made):
        (size,) = struct.unpack_from(">i", made, place)
        value, failure = parse_answer(bytes(made[place + 4 : place + 4 + size]))
        yield value, failure and failure[:2]
        place += 4 + size


def check(conversion: Conversion, values: list[bytes], convert: Convert) -> list[Answer]:
    """Fail unless the class gives the reference's bytes, or its code and field; return them."""
    made = map(ReferenceEngine(conversion).convert_value, values)
    expected: list[Answer] = [
        (each.value, None if each.failure is None else (str(each.failure.code), each.failure.field)) for each in made
    ]
    found = convert(conversion, values)
    wrong = [(v.hex(), f, e) for v, f, e in zip(values, found, expected, strict=True) if f != e]
    schemas = f"{conversion.plan.source.text} → {conversion.plan.target.text}"
    assert not wrong, f"{len(wrong)} of {len(values)}: {wrong[:3]} ({schemas})"
    return expected
