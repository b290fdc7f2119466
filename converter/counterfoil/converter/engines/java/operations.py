"""Generating scalar operations and formulas: each value as Java expressions, after statements that compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from counterfoil.converter.engines.java.source import BYTES, ENGINE, REAL, WHOLE, JavaClass, Slot, block, quoted, real
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.languages.avro.types import AvroEnum, AvroKind
from counterfoil.schema.plans.expressions import (
    Binary,
    Call,
    Expression,
    FieldValue,
    Negate,
    Number,
    paths_of,
    result_of,
)
from counterfoil.schema.plans.model import (
    Arithmetic,
    Cast,
    Constant,
    Format,
    Join,
    Lookup,
    Op,
    Parse,
    Read,
    Recount,
    Rounding,
    Scalar,
    Shift,
    Split,
    Widen,
)
from counterfoil.schema.plans.moments import limits_of
from counterfoil.schema.plans.notation import WIDTH_BY_LETTERS
from counterfoil.schema.plans.text_forms import is_local
from counterfoil.schema.plans.types import is_instant, ticks_per_second

# Generating formulas: longs that do not overflow silently, doubles that are never NaN or infinite.

_LONG_BY_SIGN: Final = {"+": "added", "-": "subtracted", "*": "multiplied"}
_ROUNDING: Final = {"round": "rint", "floor": "floor", "ceil": "ceil"}

Path = tuple[str, ...]


@dataclass(frozen=True)
class JavaFormula:
    """The result of a formula as an expression, after its statements."""

    value: str
    null_when: str | None
    declared: tuple[str, ...]
    lines: tuple[str, ...]


def formula(op: Arithmetic, read: Callable[[Path], JavaValue], java: JavaClass, where: str) -> JavaFormula:
    """Return a formula in Java; ``read`` returns the value of a field.

    A field that is null makes the result null, and the fields behind it are not looked at.
    """
    paths = list(dict.fromkeys(paths_of(op.expression)))
    kinds = {path: "long" if path in op.integers else "double" for path in paths}
    values = {path: read(path) for path in paths}
    nulls = [value.null_when for value in values.values() if value.null_when]
    is_null = java.fresh("t") if nulls else None
    lines: list[str] = []
    for path, value in values.items():
        lines += value.lines
        check = [] if value.kind == "whole" else [_operand(value, path, where)]
        if value.null_when:
            lines.append(f"if ({value.null_when}) {is_null} = true;")
        if check:
            lines += block(f"if (!{is_null})", check) if is_null else check
    result = java.fresh("t")
    computed = f"{result} = {_Writer(kinds, values, where).write(op.expression)};"
    lines += block(f"if (!{is_null})", [computed]) if is_null else [computed]
    java_type, start = ("long", "0L") if op.result == "long" else ("double", "0.0")
    declared = [line for value in values.values() for line in value.declared]
    declared += [f"boolean {is_null} = false;"] if is_null else []
    return JavaFormula(result, is_null, (*declared, f"{java_type} {result} = {start};"), tuple(lines))


def _operand(value: JavaValue, path: Path, where: str) -> str:
    return f"Numbers.operand({value.value}, {quoted('.'.join(path))}, {quoted(where)});"


class _Writer:
    """Writes one formula as nested calls, which Java evaluates from left to right."""

    def __init__(self, kinds: dict[Path, str], values: dict[Path, JavaValue], where: str) -> None:
        self._kinds = kinds
        self._values = values
        self._where = quoted(where)

    def write(self, expression: Expression) -> str:
        """Return a long or double expression."""
        if isinstance(expression, Number):
            return f"{expression.value}L" if isinstance(expression.value, int) else real(expression.value)
        if isinstance(expression, FieldValue):
            return self._values[expression.path].value
        if isinstance(expression, Binary):
            return self._binary(expression)
        if not isinstance(expression, Negate | Call):
            raise TypeError(expression)
        inner = self.write(expression.of)
        is_long = result_of(expression.of, self._kinds) == "long"
        if isinstance(expression, Negate):
            return f"Numbers.subtracted(0L, {inner}, {self._where})" if is_long else f"(-({inner}))"
        return self._call(expression, inner, is_long=is_long)

    def _binary(self, expression: Binary) -> str:
        left, right = self.write(expression.left), self.write(expression.right)
        if result_of(expression, self._kinds) == "long":
            return f"Numbers.{_LONG_BY_SIGN[expression.sign]}({left}, {right}, {self._where})"
        left, right = f"(double) {left}", f"(double) {right}"
        if expression.sign == "/":
            return f"Numbers.divided({left}, {right}, {self._where})"
        return f"Numbers.finite({left} {expression.sign} {right}, {self._where})"

    def _call(self, expression: Call, inner: str, *, is_long: bool) -> str:
        if expression.function == "abs":
            return f"Numbers.absolute({inner}, {self._where})" if is_long else f"Math.abs({inner})"
        if is_long:
            return f"((double) {inner})"
        return f"(Math.{_ROUNDING[expression.function]}({inner}) + 0.0)"


# Generating scalar operations: the value of each as Java expressions, after statements that compute it.

ONE: Final = "java.math.BigDecimal.ONE"
_FORMS: Final = frozenset({"date-time", "full-date", "base64"})


def mode_of(rounding: Rounding) -> str:
    """Return a rounding as Java's constant."""
    name = "UNNECESSARY" if rounding is Rounding.EXACT else rounding.name
    return f"java.math.RoundingMode.{name}"


def _long(number: int) -> str:
    """Return a number of 64 bits as a Java expression: the smallest one is no literal."""
    return "Long.MIN_VALUE" if number == -(2**63) else f"{number}L"


_GROUP_BY_LETTERS: Final = {letters: number for number, letters in enumerate(WIDTH_BY_LETTERS)}


@dataclass(frozen=True)
class JavaValue:
    """A scalar in Java: ``kind`` is boolean, whole, real, bytes or enum.

    ``value`` is an expression, for bytes and text ``data``, ``start`` and ``end`` instead. ``null_when`` is the
    condition that it is null; its expressions mean nothing then. ``declared`` come before ``lines``, which compute it.
    """

    kind: str
    value: str = ""
    data: str = ""
    start: str = ""
    end: str = ""
    null_when: str | None = None
    symbols: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def span(self) -> str:
        """The bytes as three arguments."""
        return f"{self.data}, {self.start}, {self.end}"

    def then(self, lines: list[str], declared: tuple[str, ...] = (), **changes: Any) -> JavaValue:
        """Return a value that more statements compute from this one, where this one is not null."""
        guarded = block(f"if (!({self.null_when}))", lines) if self.null_when and lines else lines
        return replace(self, declared=(*self.declared, *declared), lines=(*self.lines, *guarded), **changes)


@dataclass
class Operations:
    """Turns scalar operations into Java; ``java`` gets their constants."""

    java: JavaClass

    def scalar(self, op: Op, scope: Slot, where: str) -> JavaValue:
        """Return the value of an operation; ``where`` is the target field in its failures."""
        write = self._operations.get(type(op))
        if write is None:
            raise EngineCannot(ENGINE, field=where, why=f"{type(op).__name__} inside another operation")
        return write(self, op, scope, where)

    def read(self, slot: Slot, scope: Slot) -> JavaValue:
        """Return the value of a slot."""
        slot.use()
        null_when = slot.null_condition(scope)
        inner = slot.inner
        if inner is None:
            return JavaValue("whole", "0L", null_when="true")
        if inner.kind in BYTES:
            return JavaValue("bytes", data=slot.data, start=f"a{slot.name}", end=f"z{slot.name}", null_when=null_when)
        if isinstance(inner, AvroEnum):
            return JavaValue("enum", f"v{slot.name}", null_when=null_when, symbols=tuple(inner.symbols))
        kind = "boolean" if inner.kind is AvroKind.BOOLEAN else "whole" if inner.kind in WHOLE else "real"
        if kind == "real" and inner.kind not in REAL:
            raise EngineCannot(ENGINE, field=slot.where, why="a union other than null and one type")
        return JavaValue(kind, f"v{slot.name}", null_when=null_when)

    def _read(self, op: Read, scope: Slot, _where: str) -> JavaValue:
        return self.read(scope.at(op.path), scope)

    def _constant(self, op: Constant, _scope: Slot, where: str) -> JavaValue:
        value = op.value
        if isinstance(value, (str, bytes)):
            name = self.java.data(value.encode() if isinstance(value, str) else value)
            return JavaValue("bytes", data=name, start="0", end=f"{name}.length")
        if isinstance(value, bool):
            return JavaValue("boolean", "true" if value else "false")
        if isinstance(value, int):
            return JavaValue("whole", f"{value}L")
        if isinstance(value, float):
            return JavaValue("real", real(value))
        raise EngineCannot(ENGINE, field=where, why="a constant with parts inside another operation")

    # -- types

    def text_of(self, value: JavaValue) -> JavaValue:
        """Return an enum as its symbol's text; any other value unchanged."""
        if value.kind != "enum":
            return value
        symbols = self.java.several([symbol.encode() for symbol in value.symbols])
        name = self.java.fresh("t")
        lines = [f"{name} = {symbols}[(int) {value.value}];"]
        return value.then(
            lines, (f"byte[] {name} = Texts.EMPTY;",), kind="bytes", data=name, start="0", end=f"{name}.length"
        )

    def _widen(self, op: Widen, scope: Slot, where: str) -> JavaValue:
        value = self.scalar(op.of, scope, where)
        if op.target.base in {"string", "bytes"}:
            return self.text_of(value)
        if op.target.base == "double" and value.kind == "whole":
            return replace(value, kind="real", value=f"(double) {value.value}")
        return value

    def _computed(self, value: JavaValue, java_type: str, kind: str, expression: str) -> JavaValue:
        """Return a number or boolean that a call computes of a value that is not null."""
        name = self.java.fresh("t")
        start = {"boolean": "false", "double": "0.0", "long": "0L"}[java_type]
        return value.then([f"{name} = {expression};"], (f"{java_type} {name} = {start};",), kind=kind, value=name)

    def _texts(self) -> str:
        name = self.java.fresh("t")
        self.java.member(f"final Texts {name} = new Texts()")
        return name

    def _made_text(self, value: JavaValue, call: Callable[[str], str]) -> JavaValue:
        """Return a text that a call makes in a buffer of its own."""
        name = self._texts()
        return value.then([f"{call(name)};"], kind="bytes", data=f"{name}.data", start=f"{name}.from", end=f"{name}.to")

    def _cast(self, op: Cast, scope: Slot, where: str) -> JavaValue:
        source, target = op.source, op.target
        if _FORMS & {source.word, target.word}:
            raise EngineCannot(ENGINE, field=where, why=f"{source} as {target} over bytes")
        value = self.scalar(op.of, scope, where)
        if op.rounding is not None:
            return self._decimal(value, op, where)
        if is_instant(source) and is_instant(target):
            up, down = ticks_per_second(target), ticks_per_second(source)
            call = f"Numbers.rescaled({value.value}, {up}L, {down}L, {quoted(str(target))}, {quoted(where)})"
            return self._computed(value, "long", "whole", call)
        if "decimal" in {source.word, target.word}:
            return self._decimal(value, op, where)
        if target.word == "uuid":
            return value.then([f"Numbers.checkUuid({value.span}, {quoted(where)});"])
        if target.base == "string":
            return self._to_text(value, op, where)
        if source.base in {"string", "enum"}:
            return self._from_text(self.text_of(value), target, where)
        return self._to_number(value, target, where)

    def _to_number(self, value: JavaValue, target: Scalar, where: str) -> JavaValue:
        """Return a number, a boolean or bytes as another of them."""
        if target.base in {"int", "long"}:
            return self._to_whole(value, target, where)
        if target.base == "fixed":
            return value.then([f"Numbers.checkSize({value.span}, {target.size}, {quoted(where)});"])
        if target.base == "boolean":
            return self._computed(value, "boolean", "boolean", f"Numbers.booleanOf({value.value}, {quoted(where)})")
        if target.base == "float" and value.kind == "whole":
            return replace(value, kind="real", value=f"(double) (float) {value.value}")
        if target.base == "float":
            return self._computed(value, "double", "real", f"Numbers.toFloat({value.value}, {quoted(where)})")
        return replace(value, kind="real", value=f"(double) {value.value}")

    def _to_whole(self, value: JavaValue, target: Scalar, where: str) -> JavaValue:
        rest = f"{quoted(str(target))}, {quoted(where)}"
        is_int = target.base == "int"
        if value.kind == "boolean":
            return replace(value, kind="whole", value=f"({value.value} ? 1L : 0L)")
        if value.kind == "real":
            call = f"Numbers.wholeOf({value.value}, {'true' if is_int else 'false'}, {rest})"
            return self._computed(value, "long", "whole", call)
        return self._computed(value, "long", "whole", f"Numbers.toInt({value.value}, {rest})") if is_int else value

    def _to_text(self, value: JavaValue, op: Cast, where: str) -> JavaValue:
        if value.kind == "boolean":
            true, false = self.java.data(b"true"), self.java.data(b"false")
            return self._made_text(value, lambda name: f"{name}.set({value.value} ? {true} : {false})")
        if value.kind == "whole":
            return self._made_text(value, lambda name: f"Numbers.text({name}, {value.value})")
        if value.kind == "real":
            is_float = "true" if op.source.base == "float" else "false"
            rest = f"{op.decimals or 0}, {is_float}, {quoted(where)}"
            return self._made_text(value, lambda name: f"Numbers.realText({name}, {value.value}, {rest})")
        if op.source.base == "bytes":
            return value.then([f"Numbers.checkUtf8({value.span}, {quoted(where)});"])
        return self.text_of(value)

    def _from_text(self, value: JavaValue, target: Scalar, where: str) -> JavaValue:
        field_name, is_int = quoted(where), "true" if target.base == "int" else "false"
        if target.base == "enum":
            symbols = self.java.several([symbol.encode() for symbol in target.symbols])
            made = self._computed(value, "long", "enum", f"Numbers.symbolOf({value.span}, {symbols}, {field_name})")
            return replace(made, symbols=target.symbols)
        if target.base == "boolean":
            return self._computed(value, "boolean", "boolean", f"Numbers.booleanOfText({value.span}, {field_name})")
        if target.base in {"int", "long"}:
            call = f"Numbers.wholeOfText({value.span}, {is_int}, {quoted(str(target))}, {field_name})"
            return self._computed(value, "long", "whole", call)
        is_float = "true" if target.base == "float" else "false"
        return self._computed(value, "double", "real", f"Numbers.realOfText({value.span}, {is_float}, {field_name})")

    def _decimal(self, value: JavaValue, op: Cast, where: str) -> JavaValue:
        source, target = op.source, op.target
        number = self._exact(value, source, where)
        if target.base == "double":
            return self._computed(value, "double", "real", f"{number}.doubleValue()")
        if target.base in {"int", "long", "uint64"}:
            mode = mode_of(op.rounding or Rounding.EXACT)
            return self._rounded(value, (number, ONE, ONE, mode), target, where)
        places = op.rounded
        if places is None and op.rounding is not None:
            places = target.scale if target.word == "decimal" else op.decimals
        rounding = f"{-1 if places is None else places}, {mode_of(op.rounding or Rounding.HALF_UP)}"
        if target.base == "string":
            rest = f"{rounding}, {quoted(where)}"
            return self._made_text(value, lambda name: f"Numbers.decimalText({name}, {number}, {rest})")
        size = -1 if target.size is None else target.size
        rest = f"{target.scale}, {target.precision or 0}, {size}, {rounding}, {quoted(str(target))}, {quoted(where)}"
        return self._made_text(value, lambda name: f"Numbers.decimalBytes({name}, {number}, {rest})")

    def _rounded(self, value: JavaValue, rounded: tuple[str, str, str, str], target: Scalar, where: str) -> JavaValue:
        """Return a number, multiplied, divided and rounded, as a whole number; ``rounded`` are the arguments."""
        return self._computed(value, "long", "whole", f"{self.within(rounded, target, where)}.longValue()")

    def within(self, rounded: tuple[str, str, str, str], target: Scalar, where: str) -> str:
        """Return the expression of a whole number of any size within the limits of a type."""
        low, high = (self.big(limit) for limit in limits_of(target))
        names = f"{quoted(str(target))}, {quoted(where)}"
        return f"Numbers.within(Numbers.rounded({', '.join(rounded)}, {names}), {low}, {high}, {names})"

    def big(self, number: int) -> str:
        """Return the name of a constant with a whole number of any size."""
        return self.java.constant("java.math.BigInteger", f'new java.math.BigInteger("{number}")')

    def _exact(self, value: JavaValue, source: Scalar, where: str) -> str:
        """Return the exact number of a value as an expression."""
        if source.word == "decimal":
            return f"Numbers.decimal({value.span}, {source.scale})"
        if value.kind == "whole":
            return f"java.math.BigDecimal.valueOf({value.value})"
        if value.kind == "real":
            is_float = "true" if source.base == "float" else "false"
            return f"Numbers.decimalOfReal({value.value}, {is_float}, {quoted(where)})"
        return f"Numbers.decimalOfText({value.span}, {quoted(where)})"

    # -- times

    def _recount(self, op: Recount, scope: Slot, where: str) -> JavaValue:
        value, target = self.scalar(op.of, scope, where), op.target
        if value.kind == "whole" and target.base in {"int", "long"} and not target.is_wide:
            low, high = limits_of(target)
            call = (
                f"Moments.recounted({value.value}, {op.up}L, {op.down}L, {mode_of(op.rounding)}, {_long(low)}, "
                f"{_long(high)}, {quoted(str(target))}, {quoted(where)})"
            )
            return self._computed(value, "long", "whole", call)
        number = self._exact(value, op.source, where)
        up, down = (f"new java.math.BigDecimal({self.big(each)})" for each in (op.up, op.down))
        if target.base == "double":
            checked = f"Numbers.moderate({number}, {quoted(str(target))}, {quoted(where)})"
            return self._computed(value, "double", "real", f"Moments.ratio({checked}, {up}, {down})")
        rounded = (number, up, down, mode_of(op.rounding))
        if target.word != "decimal":
            return self._rounded(value, rounded, target, where)
        names = f"{quoted(str(target))}, {quoted(where)}"
        rest = f"{target.precision or 0}, {-1 if target.size is None else target.size}, {names}"
        call = f"Numbers.rounded({', '.join(rounded)}, {names})"
        return self._made_text(value, lambda name: f"Numbers.scaledBytes({name}, {call}, {rest})")

    def _shift(self, op: Shift, scope: Slot, where: str) -> JavaValue:
        if op.target.is_wide:
            raise EngineCannot(ENGINE, field=where, why="a point in time of more than 64 bits")
        value = self.scalar(op.of, scope, where)
        rest = f"{quoted(str(op.target))}, {quoted(where)}"
        call = f"Moments.shifted({value.value}, {self.clock(op)}, {rest})"
        return self._computed(value, "long", "whole", call)

    def clock(self, op: Shift) -> str:
        """Return what says how a point in time is shifted, as arguments."""
        return f"{self.zone(op.zone)}, {ticks_per_second(op.source)}L, {'true' if op.is_back else 'false'}"

    def zone(self, name: str) -> str:
        """Return the name of a constant with the rules of a time zone."""
        return self.java.constant("java.time.zone.ZoneRules", f"Moments.rules({quoted(name)})")

    # -- texts and dates

    def _instants(self, op: Format | Parse, scalar: Scalar) -> str:
        groups = [_GROUP_BY_LETTERS[piece.letters] if piece.letters else -1 for piece in op.pattern.pieces]
        texts = self.java.several([piece.text.encode() for piece in op.pattern.pieces])
        zone = "null" if is_local(scalar) else quoted(op.zone)
        ticks = 0 if scalar.word == "date" else ticks_per_second(scalar)
        rest = f"{zone}, {ticks}L, {quoted(op.pattern.spelt)}, {quoted(str(scalar))}"
        return self.java.constant("Instants", f"new Instants({self.java.integers(groups)}, {texts}, {rest})")

    def _format(self, op: Format, scope: Slot, where: str) -> JavaValue:
        value, instants = self.scalar(op.of, scope, where), self._instants(op, op.source)
        return self._made_text(value, lambda name: f"{instants}.format({name}, {value.value}, {quoted(where)})")

    def _parse(self, op: Parse, scope: Slot, where: str) -> JavaValue:
        value, instants = self.text_of(self.scalar(op.of, scope, where)), self._instants(op, op.target)
        return self._computed(value, "long", "whole", f"{instants}.parse({value.span}, {quoted(where)})")

    def _split(self, op: Split, scope: Slot, where: str) -> JavaValue:
        value = self.text_of(self.scalar(op.of, scope, where))
        separator = self.java.data(op.separator.encode())
        return self._made_text(
            value, lambda name: f"{name}.split({value.span}, {separator}, {op.take}, {quoted(where)})"
        )

    def _join(self, op: Join, scope: Slot, where: str) -> JavaValue:
        parts = [self.text_of(self.scalar(part, scope, where)) for part in op.parts]
        nulls = [part.null_when for part in parts if part.null_when]
        name, separator = self._texts(), self.java.data(op.separator.encode())
        lines = [f"{name}.buffer(0);"]
        for number, part in enumerate(parts):
            if number and op.separator:
                lines.append(f"{name}.join({separator}, 0, {separator}.length, {quoted(where)});")
            lines.append(f"{name}.join({part.span}, {quoted(where)});")
        start = JavaValue(
            "bytes",
            null_when=" || ".join(f"({null})" for null in nulls) or None,
            declared=tuple(line for part in parts for line in part.declared),
            lines=tuple(line for part in parts for line in part.lines),
        )
        return start.then(lines, data=f"{name}.data", start=f"{name}.from", end=f"{name}.to")

    def place_of(self, key: JavaValue, op: Lookup) -> tuple[str, str]:
        """Return the expression of an entry's number, and that of the key as it is shown."""
        keys = [each for each, _ in op.table]
        if key.kind == "enum":
            numbers = [keys.index(symbol) if symbol in keys else -1 for symbol in key.symbols]
            words = self.java.words(key.symbols)
            shown = f"Texts.repr({words}[(int) {key.value}])"
            return f"{self.java.integers(numbers)}[(int) {key.value}]", shown
        if key.kind == "boolean":
            true, false = (keys.index(each) if each in keys else -1 for each in (True, False))
            return f"{key.value} ? {true} : {false}", f'({key.value} ? "True" : "False")'
        if key.kind == "whole":
            table = self.java.constant("Table", f"new Table({self.java.longs(keys)})")
            return f"{table}.placeOf({key.value})", f"Long.toString({key.value})"
        texts = [each.encode("utf-8", "surrogatepass") for each in keys]
        table = self.java.constant("Table", f"new Table({self.java.several(texts)})")
        return f"{table}.placeOf({key.span})", f"Texts.shown({key.span})"

    def _arithmetic(self, op: Arithmetic, scope: Slot, where: str) -> JavaValue:
        operands = dict(op.operands or ())
        found = formula(op, lambda path: self.scalar(operands.get(path) or Read(path), scope, where), self.java, where)
        return JavaValue(
            "whole" if op.result == "long" else "real",
            found.value,
            null_when=found.null_when,
            declared=found.declared,
            lines=found.lines,
        )

    _operations: ClassVar[dict[type, Callable[..., JavaValue]]] = {
        Read: _read,
        Constant: _constant,
        Widen: _widen,
        Cast: _cast,
        Recount: _recount,
        Shift: _shift,
        Format: _format,
        Parse: _parse,
        Split: _split,
        Join: _join,
        Arithmetic: _arithmetic,
    }
