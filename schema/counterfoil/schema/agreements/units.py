"""Units of values: UCUM codes, and currencies with an optional part such as ``EUR.cent``.

Source: The Unified Code for Units of Measure 2.1, tables 1 to 20 (case sensitive codes) and its grammar; ISO 4217,
active codes.
"""

from __future__ import annotations

import re
from typing import Final

from counterfoil.schema.caches import cached_if_short

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

_CURRENCIES: Final = """
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
CURRENCIES: Final = frozenset(_CURRENCIES.split())
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
