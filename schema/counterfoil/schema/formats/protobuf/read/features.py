"""The features of fields and enums that follow from the syntax, the edition and the feature options of a file.

Source: the Protocol Buffers guide, "Feature settings for editions": the defaults of proto2, proto3, 2023 and 2024, and
inheritance from the file through the outer messages to the field itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.read.ast import Aggregate, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.protobuf.read.ast import Option, ProtoFile

_PREFIX: Final = "features"


@dataclass(frozen=True, slots=True)
class Features:
    """The features that apply to one place of a file.

    ``presence`` is ``EXPLICIT``, ``IMPLICIT`` or ``LEGACY_REQUIRED``; ``has_closed_enums`` whether an enum holds only
    its own numbers; ``is_packed`` whether repeated numbers are one block of bytes; ``is_delimited`` whether messages
    are encoded with start and end tags, as groups are; ``checks_utf8`` whether a string must be UTF-8; ``allows_json``
    whether the JSON form is supported.
    """

    presence: str = "EXPLICIT"
    has_closed_enums: bool = False
    is_packed: bool = True
    is_delimited: bool = False
    checks_utf8: bool = True
    allows_json: bool = True


PROTO2: Final = Features(has_closed_enums=True, is_packed=False, checks_utf8=False, allows_json=False)
PROTO3: Final = Features(presence="IMPLICIT")
EDITION: Final = Features()


def features_of(file: ProtoFile) -> Features:
    """Return the features of a whole file."""
    if file.edition is None:
        return PROTO3 if file.is_proto3 else PROTO2
    return with_options(EDITION, file.options)


def with_options(features: Features, options: Iterable[Option]) -> Features:
    """Return the features inside an element with ``options``; ``features`` are those of its parent."""
    for name, value in _feature_values(options):
        match name:
            case "field_presence":
                features = replace(features, presence=value)
            case "enum_type":
                features = replace(features, has_closed_enums=value == "CLOSED")
            case "repeated_field_encoding":
                features = replace(features, is_packed=value == "PACKED")
            case "message_encoding":
                features = replace(features, is_delimited=value == "DELIMITED")
            case "utf8_validation":
                features = replace(features, checks_utf8=value == "VERIFY")
            case "json_format":
                features = replace(features, allows_json=value == "ALLOW")
    return features


def is_feature(option: Option) -> bool:
    """Return whether an option sets features: all of ``features``, or one of them."""
    return option.name == _PREFIX or option.name.startswith(f"{_PREFIX}.")


def _feature_values(options: Iterable[Option]) -> Iterator[tuple[str, str]]:
    for option in options:
        if option.name == _PREFIX and isinstance(option.value, Aggregate):
            for entry in option.value.entries:
                if isinstance(entry.value, Scalar):
                    yield entry.name, entry.value.text
        elif option.name.startswith(f"{_PREFIX}.") and isinstance(option.value, Scalar):
            yield option.name.removeprefix(f"{_PREFIX}."), option.value.text
