"""Dates and points in time as Spark SQL.

Only types without a zone are used, and the zone of the rule is applied explicitly, so that the session's zone has no
effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.sql.text import floor_divided, text
from counterfoil.schema.evolution.instants import is_local
from counterfoil.schema.evolution.patterns import WIDTH_BY_LETTERS, offset_minutes
from counterfoil.schema.evolution.types import ticks_per_second

if TYPE_CHECKING:
    from counterfoil.schema.evolution.model import Format, Parse, Scalar

_MICROS: Final = 1_000_000
_EPOCH: Final = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_FIRST_DAY, _LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31, counted from 1970
_SAFE_TICKS: Final = 1 << 62  # far enough from the ends of a bigint for every offset
_ISO_DATE: Final = ["yyyy", "-", "MM", "-", "dd"]
_PLACE_IN_DATE: Final = {"yyyy": 1, "MM": 6, "dd": 9}


def format_sql(op: Format, value: str) -> str:
    """Return the date or point in time as text; null outside the calendar, and on its first and last day."""
    if op.source.word == "date":
        day, clock = value, ""
        bound = f"{value} BETWEEN {_FIRST_DAY} AND {_LAST_DAY}"
    else:
        ticks_per_day = 86_400 * ticks_per_second(op.source)
        ticks = _in_zone(value, op.source, op.zone)
        day = f"cast({floor_divided(ticks, ticks_per_day)} AS int)"
        clock = f"pmod({ticks}, {ticks_per_day}L)"
        low, high = (_FIRST_DAY + 1) * ticks_per_day, _LAST_DAY * ticks_per_day
        bound = f"{value} BETWEEN {max(low, -_SAFE_TICKS)} AND {min(high, _SAFE_TICKS)}"
    date = f"cast(date_add(DATE'1970-01-01', {day}) AS string)"
    return f"CASE WHEN {bound} THEN concat({', '.join(_pieces_sql(op, date, clock))}) END"


def _in_zone(value: str, scalar: Scalar, zone: str) -> str:
    """Return the ticks of a zone's local time at the ticks ``value``."""
    minutes = offset_minutes(zone)
    if is_local(scalar) or minutes == 0:
        return value
    ticks = ticks_per_second(scalar)
    if minutes is not None:
        return f"({value} + {minutes * 60 * ticks})"
    micros = f"{value} * {_MICROS // ticks}" if ticks <= _MICROS else floor_divided(value, ticks // _MICROS)
    utc = f"timestampadd(MICROSECOND, {micros}, {_EPOCH})"
    wall = f"timestampdiff(MICROSECOND, {_EPOCH}, convert_timezone('UTC', {text(zone)}, {utc}))"
    if ticks <= _MICROS:
        return floor_divided(wall, _MICROS // ticks)
    return f"({wall} * {ticks // _MICROS} + pmod({value}, {ticks // _MICROS}L))"


def _pieces_sql(op: Format, date: str, clock: str) -> list[str]:
    """Return the texts of a pattern's pieces; ``clock`` counts ticks since midnight."""
    pieces = op.pattern.pieces
    spelt = [piece.letters or piece.text for piece in pieces]
    made: list[str] = []
    place = 0
    while place < len(pieces):
        if spelt[place : place + len(_ISO_DATE)] == _ISO_DATE:
            made.append(date)
            place += len(_ISO_DATE)
            continue
        piece = pieces[place]
        made.append(_letters_sql(piece.letters, date, clock, op.source) if piece.letters else text(piece.text))
        place += 1
    return made


def _letters_sql(letters: str, date: str, clock: str, source: Scalar) -> str:
    if letters in _PLACE_IN_DATE:
        return f"substring({date}, {_PLACE_IN_DATE[letters]}, {WIDTH_BY_LETTERS[letters]})"
    width = WIDTH_BY_LETTERS[letters]
    ticks = ticks_per_second(source)
    if letters in {"SSS", "SSSSSS"}:
        wanted = 10**width
        part = f"({clock} % {ticks})"
        number = f"({part} * {wanted // ticks})" if wanted >= ticks else f"({part} div {ticks // wanted})"
    else:
        size, wrap = {"HH": (3600, 24), "mm": (60, 60), "ss": (1, 60)}[letters]
        number = f"(({clock} div {size * ticks}) % {wrap})"
    return f"substring(cast({10**width} + {number} AS string), 2, {width})"


def parse_sql(op: Parse, value: str) -> str:
    """Return the number of a text; null when it does not match the pattern, or is no date."""
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
    """Return the number of days of a month; valid for months 1 to 12."""
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
