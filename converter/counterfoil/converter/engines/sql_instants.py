"""Dates and points in time as Spark SQL.

Only zone-free types are used, and the zone is applied as a rule says, so that the session's zone does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.sql_text import floor_divided, text
from counterfoil.schema.evolution.instants import is_local
from counterfoil.schema.evolution.patterns import WIDTH_BY_LETTERS, offset_minutes
from counterfoil.schema.evolution.types import ticks_per_second

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Format, Parse, Scalar

_MICROS: Final = 1_000_000
_EPOCH: Final = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_FIRST_DAY, _LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31, counted from 1970
_MICROS_PER_DAY: Final = 86_400 * _MICROS


def format_sql(op: Format, value: str) -> str:
    """The date or point in time as text."""
    if op.source.word == "date":
        wall = f"date_add(DATE'1970-01-01', {value})"
        bound = f"{value} BETWEEN {_FIRST_DAY} AND {_LAST_DAY}"
    else:
        micros = _as_micros(value, op.source)
        low, high = (_FIRST_DAY + 1) * _MICROS_PER_DAY, _LAST_DAY * _MICROS_PER_DAY
        wall = _in_zone(f"timestampadd(MICROSECOND, {micros}, {_EPOCH})", op.source, op.zone)
        bound = f"{micros} BETWEEN {low} AND {high}"
    pieces = ", ".join(
        _piece_sql(piece.letters, wall) if piece.letters else text(piece.text) for piece in op.pattern.pieces
    )
    return f"CASE WHEN {bound} THEN concat({pieces}) END"


def _as_micros(value: str, scalar: Scalar) -> str:
    """Microseconds since 1970; null beyond what fits."""
    ticks = ticks_per_second(scalar)
    if ticks <= _MICROS:
        return f"try_multiply({value}, cast({_MICROS // ticks} AS bigint))"
    ratio = ticks // _MICROS
    return floor_divided(value, ratio)


def _in_zone(wall: str, scalar: Scalar, zone: str) -> str:
    """The wall clock of a zone, from that of UTC."""
    minutes = offset_minutes(zone)
    if is_local(scalar) or minutes == 0:
        return wall
    if minutes is not None:
        return f"timestampadd(MINUTE, {minutes}, {wall})"
    return f"convert_timezone('UTC', {text(zone)}, {wall})"


def _piece_sql(letters: str, wall: str) -> str:
    width = WIDTH_BY_LETTERS[letters]
    if letters in {"SSS", "SSSSSS"}:
        micros = f"cast(extract(SECOND FROM {wall}) * {_MICROS} AS bigint) % {_MICROS}"
        number = f"(({micros}) div 1000)" if letters == "SSS" else f"({micros})"
    elif letters == "ss":
        number = f"cast(floor(extract(SECOND FROM {wall})) AS int)"
    else:
        part = {"yyyy": "YEAR", "MM": "MONTH", "dd": "DAY", "HH": "HOUR", "mm": "MINUTE"}[letters]
        number = f"extract({part} FROM {wall})"
    return f"lpad(cast({number} AS string), {width}, '0')"


def parse_sql(op: Parse, value: str) -> str:
    """The number that a text stands for; null where it is not spelt so, or no date."""
    parts: dict[str, str] = {}
    checks = [f"length({value}) = {op.pattern.width}", f"octet_length({value}) = {_octets(op)}"]
    place = 1
    for piece in op.pattern.pieces:
        width = WIDTH_BY_LETTERS[piece.letters] if piece.letters else len(piece.text)
        part = f"substring({value}, {place}, {width})"
        if piece.letters:
            parts[piece.letters] = f"try_cast({part} AS int)"
            checks.append(f"{part} RLIKE {text(f'^[0-9]{{{width}}}$')}")
        else:
            checks.append(f"{part} = {text(piece.text)}")
        place += width
    made = _number(op, parts)
    return f"CASE WHEN {' AND '.join(checks)} THEN {made} END"


def _octets(op: Parse) -> int:
    return sum(
        WIDTH_BY_LETTERS[piece.letters] if piece.letters else len(piece.text.encode()) for piece in op.pattern.pieces
    )


def _number(op: Parse, parts: dict[str, str]) -> str:
    year, month, day = parts["yyyy"], parts["MM"], parts["dd"]
    exists = f"{year} >= 1 AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND {_days(year, month)}"
    date = f"make_date({year}, {month}, {day})"
    days = f"unix_date({date})"
    if op.target.word == "date":
        return f"CASE WHEN {exists} THEN {days} END"
    hour, minute, second = (parts.get(letters, "0") for letters in ("HH", "mm", "ss"))
    exists += f" AND {hour} < 24 AND {minute} < 60 AND {second} < 60"
    micros = (
        f"(((cast({days} AS bigint) * 24 + {hour}) * 60 + {minute}) * 60 + {second}) * {_MICROS}"
        f" + {parts.get('SSS', '0')} * 1000 + {parts.get('SSSSSS', '0')}"
    )
    return f"CASE WHEN {exists} THEN {_as_ticks(_to_utc(f'({micros})', op), op.target)} END"


def _days(year: str, month: str) -> str:
    """How many days a month has; valid for months 1 to 12."""
    leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
    return f"(CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END)"


def _to_utc(micros: str, op: Parse) -> str:
    minutes = offset_minutes(op.zone)
    if is_local(op.target) or minutes == 0:
        return micros
    if minutes is not None:
        return f"({micros} - {minutes * 60 * _MICROS})"
    wall = f"timestampadd(MICROSECOND, {micros}, {_EPOCH})"
    return f"timestampdiff(MICROSECOND, {_EPOCH}, convert_timezone({text(op.zone)}, 'UTC', {wall}))"


def _as_ticks(micros: str, scalar: Scalar) -> str:
    ticks = ticks_per_second(scalar)
    if ticks > _MICROS:
        return f"try_multiply({micros}, cast({ticks // _MICROS} AS bigint))"
    ratio = _MICROS // ticks
    return floor_divided(micros, ratio) if ratio > 1 else micros
