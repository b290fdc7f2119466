"""The names of Unicode's properties that ECMA 262 knows.

Source: ECMA 262, tables "Non-binary Unicode property aliases", "Binary Unicode property aliases" and the values of
General_Category in Unicode's PropertyValueAliases. A name is exact: neither its case nor its underscores may differ.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import regex

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.ecma.syntax import LAST_CODE_POINT, Span

_CATEGORIES: Final = """
Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl Currency_Symbol Sc
Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf Initial_Punctuation
Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm
Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter Lo
Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co Punctuation P punct
Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt Unassigned Cn
Uppercase_Letter Lu
"""
_BINARY: Final = """
ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable
CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL
Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep
Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres
Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex
IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control
Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn
Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI Sentence_Terminal STerm
Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS
White_Space space XID_Continue XIDC XID_Start XIDS
"""
_NAMES: Final = frozenset((*_CATEGORIES.split(), *_BINARY.split()))
_VALUES: Final = frozenset(_CATEGORIES.split())
_FULL_NAMES: Final = {"IDC": "ID_Continue", "VS": "Variation_Selector"}
"""The names that the package ``regex`` reads as those of other properties."""

_OF_SCRIPT: Final = frozenset(("Script", "sc", "Script_Extensions", "scx"))
_LONGEST_NAME: Final = 100
"""The length of the longest name of a script for which it is remembered whether there is one."""
_SCRIPT: Final = re.compile(r"[A-Z][a-z]+(?:_[A-Z][a-z]+)*|Nko|SignWriting|Phags_Pa")


def is_property(text: str) -> bool:
    r"""Return whether ``\p{text}`` is a set of characters in ECMA 262.

    >>> is_property("Lu"), is_property("Script=Greek"), is_property("Greek"), is_property("lu")
    (True, True, False, False)
    """
    name, equals, value = text.partition("=")
    if not equals:
        return name in _NAMES
    if name in {"General_Category", "gc"}:
        return value in _VALUES
    return name in _OF_SCRIPT and _is_script(value)


@cached_if_short(256, longest=_LONGEST_NAME)
def _is_script(value: str) -> bool:
    if not _SCRIPT.fullmatch(value):
        return False
    try:
        regex.compile(rf"\p{{Script={value}}}", regex.VERSION0, cache_pattern=False)
    except regex.error:
        return False
    return True


def full_name(name: str) -> str:
    """Return the name of a property for the package ``regex``."""
    return _FULL_NAMES.get(name, name)


@lru_cache(maxsize=64)
def spans_of(name: str) -> tuple[Span, ...]:
    """Return the code points that have a property, as spans in ascending order.

    >>> spans_of("ASCII_Hex_Digit")
    ((48, 57), (65, 70), (97, 102))
    """
    every = "".join(map(chr, range(LAST_CODE_POINT + 1)))
    found = regex.compile(rf"\p{{{full_name(name)}}}+", regex.VERSION0, cache_pattern=False).finditer(every)
    return tuple((each.start(), each.end() - 1) for each in found)
