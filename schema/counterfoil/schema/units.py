"""Units of values: UCUM codes and currencies in contracts, and the units that names of fields end, or begin, in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterfoil.schema.caches import cached_if_short

# Units of values: UCUM codes, and currencies with an optional part such as ``EUR.cent``.
#
# Source: The Unified Code for Units of Measure 2.1, tables 1 to 20 (case sensitive codes) and its grammar; ISO 4217,
# active codes.

_PREFIXES: Final = (
    "Y", "Z", "E", "P", "T", "G", "M", "k", "h", "da", "d", "c", "m", "u", "n", "p", "f", "a", "z", "y",
    "Ki", "Mi", "Gi", "Ti",
)  # fmt: skip
_METRIC_CODES: Final = """
    m s g rad K C cd mol sr Hz N Pa J W A V F Ohm S Wb Cel T H lm lx Bq Gy Sv l L ar t bar u eV pc st [c] [h] [k]
    [eps_0] [mu_0] [e] [m_e] [m_p] [G] gf [g] Ky Gal dyn erg P Bi St Mx G Oe Gb sb Lmb ph Ci R RAD REM cal cal_[15]
    cal_[20] cal_m cal_IT cal_th [Btu] mho bit By Bd eq osm kat U [iU] [IU] [arb'U] [USP'U] Np B B[SPL] B[V] B[mV]
    B[uV] B[10.nV] B[W] B[kW] tex [ly] m[H2O] m[Hg] att mesh
"""

_WHOLE_CODES: Final = """
    10* 10^ [pi] % [ppth] [ppm] [ppb] [pptr] gon deg ' '' min h d a_t a_j a_g a wk mo_s mo_j mo_g mo AU atm [lbf_av]
    [in_i] [ft_i] [yd_i] [mi_i] [fth_i] [nmi_i] [kn_i] [sin_i] [sft_i] [syd_i] [cin_i] [cft_i] [cyd_i] [bf_i] [cr_i]
    [mil_i] [cml_i] [hd_i] [ft_us] [yd_us] [in_us] [rd_us] [ch_us] [lk_us] [fth_us] [fur_us] [mi_us] [acr_us] [srd_us]
    [smi_us] [sct] [twp] [acr_br] [gal_us] [bbl_us] [qt_us] [pt_us] [gil_us] [foz_us] [fdr_us] [min_us] [crd_us]
    [bu_us] [gal_wi] [pk_us] [dqt_us] [dpt_us] [tbs_us] [tsp_us] [cup_us] [foz_m] [cup_m] [tsp_m] [tbs_m] [gal_br]
    [pk_br] [bu_br] [qt_br] [pt_br] [gil_br] [foz_br] [fdr_br] [min_br] [gr] [lb_av] [oz_av] [dr_av] [scwt_av]
    [lcwt_av] [ston_av] [lton_av] [stone_av] [pwt_tr] [oz_tr] [lb_tr] [sc_ap] [dr_ap] [oz_ap] [lb_ap] [lne] [pnt]
    [pca] [degF] [degR] [degRe] cal_[15] [Cal] [Btu_39] [Btu_59] [Btu_60] [Btu_m] [Btu_IT] [Btu_th] [Btu] [HP] [psi]
    [in_i'H2O] [in_i'Hg] [pH] [drp] [CFU] [PFU] [car_m] [car_Au] [smoot] bit_s [hp_X] [hp_C] [MET] [diop] circ sph
"""

_ISO_CURRENCIES: Final = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF
    CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD
    HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL
    MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON
    RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX
    USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG
"""

_METRIC: Final = frozenset(_METRIC_CODES.split())
"""The atoms that may have a prefix."""
_WHOLE: Final = frozenset(_WHOLE_CODES.split())
"""The other atoms."""
CURRENCIES: Final = frozenset(_ISO_CURRENCIES.split())
_PARTS: Final = frozenset({"cent", "minor", "mill", "milli", "micro", "nano"})
"""What may follow a currency: the smallest coin, or a decimal fraction."""
_COMPONENT: Final = re.compile(r"(?P<body>10[*^]|(?:\[[^\[\]]*\]|[^\s./()+\-\d{}\[\]])+)?(?P<exponent>[+-]?\d+)?")


@cached_if_short(1024, longest=200)
def is_unit(text: str) -> bool:
    """Return whether ``text`` is a UCUM code, or a currency with an optional part.

    >>> [is_unit(each) for each in ("EUR.cent", "km/h", "kg.m/s2", "10*3/uL", "{requests}/s")]
    [True, True, True, True, True]
    >>> [is_unit(each) for each in ("euros", "EUR.pence", "m//s")]
    [False, False, False]
    """
    currency, _, part = text.partition(".")
    if currency in CURRENCIES:
        return not part or part in _PARTS or is_unit(part)
    return bool(text) and text.isascii() and _Parser(text).is_term()


def currency_of(text: str) -> str | None:
    """Return the currency that ``text`` is but for letter case and spaces around it; None where it is no currency.

    UCUM distinguishes letter case, so that nothing else is certain.

    >>> currency_of("eur.Cent"), currency_of("mhz")
    ('EUR.cent', None)
    """
    currency, point, part = text.strip().partition(".")
    meant = f"{currency.upper()}{point}{part.lower()}"
    is_known = currency.upper() in CURRENCIES and (not point or part.lower() in _PARTS)
    return meant if is_known and meant != text else None


class _Parser:
    """UCUM's grammar: terms of components, with ``.``, ``/``, exponents, parentheses and annotations."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def is_term(self) -> bool:
        """Return whether the whole text is a term."""
        if self._text.startswith("/"):
            self._at = 1
        return self._term(0) and self._at == len(self._text)

    def _term(self, depth: int) -> bool:
        while self._component(depth):
            if self._peek() not in {".", "/"}:
                return True
            self._at += 1
        return False

    def _component(self, depth: int) -> bool:
        if self._peek() == "(":
            self._at += 1
            is_closed = depth < 8 and self._term(depth + 1) and self._peek() == ")"  # noqa: PLR2004 - deep enough
            self._at += 1
            return is_closed
        found = _COMPONENT.match(self._text, self._at)
        body, exponent = (found["body"], found["exponent"]) if found else (None, None)
        self._at = found.end() if found else self._at
        has_note = self._annotation()
        if body is None:
            return has_note or (exponent is not None and exponent.isdigit())
        return _is_atom(body)

    def _annotation(self) -> bool:
        end = self._text.find("}", self._at) if self._peek() == "{" else -1
        if end < 0:
            return False
        self._at = end + 1
        return True

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def _is_atom(body: str) -> bool:
    if body in _METRIC or body in _WHOLE:
        return True
    return any(body.startswith(prefix) and body[len(prefix) :] in _METRIC for prefix in _PREFIXES)


# The units that names of fields end, or begin, in: ``weight_g`` and ``weight_kg`` hold other numbers of one thing.

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_FEWEST_LETTERS: Final = 2
_CURRENCIES_IN_NAMES: Final = (
    "usd",
    "eur",
    "gbp",
    "jpy",
    "chf",
    "cny",
    "inr",
    "cad",
    "aud",
    "sek",
    "nok",
    "dkk",
    "pln",
    "brl",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of ``dimension``; ``size`` is how many of the smallest unit it has, None if no factor leads to others."""

    dimension: str
    size: float | None


def _units() -> dict[str, Unit]:
    sizes: dict[str, dict[str, float | None]] = {
        "time": {
            "ns nano nanos nanosecond nanoseconds": 1e-6,
            "us micro micros microsecond microseconds usec usecs": 1e-3,
            "ms milli millis millisecond milliseconds msec msecs": 1.0,
            "s sec secs second seconds": 1000.0,
            "min mins minute minutes": 60_000.0,
            "h hr hrs hour hours": 3_600_000.0,
            "day days": 86_400_000.0,
            "week weeks": 604_800_000.0,
        },
        "length": {
            "mm millimeter millimeters millimetre millimetres": 0.001,
            "cm centimeter centimeters centimetre centimetres": 0.01,
            "m meter meters metre metres": 1.0,
            "km kms kilometer kilometers kilometre kilometres": 1000.0,
            "inch inches": 0.0254,
            "ft foot feet": 0.3048,
            "yd yard yards": 0.9144,
            "mi mile miles": 1609.344,
        },
        "mass": {
            "mg milligram milligrams": 0.001,
            "g gram grams gramme grammes": 1.0,
            "kg kgs kilo kilos kilogram kilograms": 1000.0,
            "t ton tons tonne tonnes": 1_000_000.0,
            "oz ounce ounces": 28.349523125,
            "lb lbs pound pounds": 453.59237,
        },
        "volume": {
            "ml milliliter milliliters millilitre millilitres": 1.0,
            "cl": 10.0,
            "l liter liters litre litres": 1000.0,
        },
        "money": {"cent cents penny pence minor": 1.0, "major": 100.0},
        "share": {"ratio fraction": 100.0, "pct percent percentage": 1.0, "bps": 0.01, "permille": 0.1},
        "data": {
            "byte bytes": 1.0,
            "kb": 1000.0,
            "kib": 1024.0,
            "mb": 1e6,
            "mib": 1024.0**2,
            "gb": 1e9,
            "gib": 1024.0**3,
            "bit bits": 0.125,
        },
        "energy": {"wh": 1.0, "kwh": 1000.0, "mwh": 1e6},
        "power": {"w watt watts": 1.0, "kw kilowatt kilowatts": 1000.0},
        "frequency": {"hz": 1.0, "khz": 1000.0, "mhz": 1e6, "ghz": 1e9},
        "speed": {"kmh kph": 1.0, "mph": 1.609344},
        "angle": {"deg degree degrees": None, "rad radian radians": None},
        "temperature": {"celsius": None, "fahrenheit": None, "kelvin": None, "c": None, "f": None, "k": None},
        "currency": dict.fromkeys(_CURRENCIES_IN_NAMES),
    }
    return {
        word: Unit(dimension, size)
        for dimension, by_words in sizes.items()
        for words, size in by_words.items()
        for word in words.split()
    }


_UNITS: Final[Mapping[str, Unit]] = _units()
_MAJOR: Final = Unit("money", 100.0)
_IN_FRONT: Final = frozenset(
    {
        *("ns", "nanos", "us", "micros", "ms", "millis", "milliseconds", "secs", "seconds", "minutes", "hours"),
        *("mm", "cm", "km", "meters", "metres", "miles", "mg", "grams", "kg", "lbs", "ml", "cents", "bytes", "kb"),
        *("usd", "eur", "gbp", "celsius", "fahrenheit"),
    }
)
"""The units with which names begin; others are words of their own there, as in ``min_price``."""
_ALONE_NO_UNIT: Final = frozenset(["c", "f", "k", "t", "l", "w"])
"""Letters that are units only beside another unit of their dimension, as in ``temp_c`` and ``temp_f``."""


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake case or camel case, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def stem_of(words: list[str]) -> list[str]:
    """Return the words without the unit at the end, or at the beginning.

    >>> stem_of(["weight", "kg"]), stem_of(["ms", "elapsed"])
    (['weight'], ['elapsed'])
    """
    if len(words) > 1 and words[-1] in _UNITS:
        return words[:-1]
    return words[1:] if len(words) > 1 and words[0] in _IN_FRONT else words


def units_of(source: str, target: str) -> tuple[Unit | None, Unit | None]:
    """Return the units of two fields by their names.

    >>> units_of("weight_g", "weightKg") == (Unit("mass", 1.0), Unit("mass", 1000.0))
    True
    """
    words = _unit_word(source), _unit_word(target)
    if None in words and _ALONE_NO_UNIT & set(words):
        return None, None
    if words != (None, None):
        left, right = (None if word is None else _UNITS[word] for word in words)
        return left, right
    return _joined_units(source, target)


def _unit_word(name: str) -> str | None:
    words = words_of(name)
    if words and words[-1] in _UNITS:
        return words[-1]
    return words[0] if len(words) > 1 and words[0] in _IN_FRONT else None


def _joined_units(source: str, target: str) -> tuple[Unit | None, Unit | None]:
    """Return the units that two names, each one word, differ in, such as ``weightg`` and ``weightkg``."""
    names = source.lower(), target.lower()
    pairs = enumerate(zip(*names, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(map(len, names)))
    rests = [name[shared:] for name in names]
    units = [_UNITS.get(rest) for rest in rests]
    if not shared or not all(unit is not None or not rest for unit, rest in zip(units, rests, strict=True)):
        return None, None
    if not all(rests) and max(map(len, rests)) < _FEWEST_LETTERS:  # a plural
        return None, None
    return units[0], units[1]


def differ_in_unit(source: str, target: str) -> bool:
    """Return whether two names have other units, or only one of them has one, so that a copy may be wrong.

    >>> differ_in_unit("weight_g", "weight_kg"), differ_in_unit("weight_g", "weight"), differ_in_unit("a_g", "b_grams")
    (True, True, False)
    """
    left, right = units_of(source, target)
    if left is None or right is None:
        return left is not right
    return left != right or left.size is None


def factor_between_names(source: str, target: str) -> float | None:
    """Return the factor from the unit of one name to that of the other; None where names say none.

    A name without a unit beside cents is that of an amount in whole units of the currency.

    >>> factor_between_names("ts_ms", "ts_us"), factor_between_names("amount_cents", "amount")
    (1000.0, 0.01)
    """
    left, right = units_of(source, target)
    if left is None and right is not None and right.dimension == "money":
        left = _MAJOR
    if right is None and left is not None and left.dimension == "money":
        right = _MAJOR
    if left is None or right is None or left.dimension != right.dimension or left == right:
        return None
    return None if left.size is None or right.size is None else left.size / right.size
