"""The built-in files, which every schema may import without a reference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from counterfoil.schema.languages.protobuf.printing import print_file
from counterfoil.schema.languages.protobuf.read.parser import parse_file
from counterfoil.schema.languages.protobuf.read.syntax_tree import ProtoFile

# The common types ``google/type/*.proto``, by import path, as texts.
#
# Source: the public interface of the Google API common types (package ``google.type``): names and numbers.

_DECLARATIONS: Final = {
    "calendar_period": """
enum CalendarPeriod {
  CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; FORTNIGHT = 3; MONTH = 4; QUARTER = 5; HALF = 6; YEAR = 7;
}""",
    "color": """
import "google/protobuf/wrappers.proto";
message Color { float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }""",
    "date": """
message Date { int32 year = 1; int32 month = 2; int32 day = 3; }""",
    "datetime": """
import "google/protobuf/duration.proto";
message DateTime {
  int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6;
  int32 nanos = 7;
  oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; }
}
message TimeZone { string id = 1; string version = 2; }""",
    "dayofweek": """
enum DayOfWeek {
  DAY_OF_WEEK_UNSPECIFIED = 0;
  MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY = 5; SATURDAY = 6; SUNDAY = 7;
}""",
    "decimal": """
message Decimal { string value = 1; }""",
    "expr": """
message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }""",
    "fraction": """
message Fraction { int64 numerator = 1; int64 denominator = 2; }""",
    "interval": """
import "google/protobuf/timestamp.proto";
message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }""",
    "latlng": """
message LatLng { double latitude = 1; double longitude = 2; }""",
    "localized_text": """
message LocalizedText { string text = 1; string language_code = 2; }""",
    "money": """
message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }""",
    "month": """
enum Month {
  MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6; JULY = 7; AUGUST = 8;
  SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12;
}""",
    "phone_number": """
message PhoneNumber {
  message ShortCode { string region_code = 1; string number = 2; }
  oneof kind { string e164_number = 1; ShortCode short_code = 2; }
  string extension = 3;
}""",
    "postal_address": """
message PostalAddress {
  int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4;
  string sorting_code = 5; string administrative_area = 6; string locality = 7; string sublocality = 8;
  repeated string address_lines = 9; repeated string recipients = 10; string organization = 11;
}""",
    "quaternion": """
message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }""",
    "timeofday": """
message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }""",
}

GOOGLE_TEXT_BY_PATH: Final[Mapping[str, str]] = {
    f"google/type/{name}.proto": f'syntax = "proto3";\npackage google.type;\n{declarations}\n'
    for name, declarations in _DECLARATIONS.items()
}
"""The text of every common type."""


# The files ``confluent/*.proto``, by import path, as texts: metadata options and the decimal and variant types.
#
# Source: the public interface of Confluent's Protobuf serializers: names and numbers.

_META: Final = """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; repeated Rule rules = 4; }
message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""
_DECIMAL: Final = """syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
"""
_VARIANT: Final = """syntax = "proto3";
package confluent.type;
message Variant { bytes metadata = 1; bytes value = 2; }
"""

CONFLUENT_TEXT_BY_PATH: Final[Mapping[str, str]] = {
    "confluent/meta.proto": _META,
    "confluent/type/decimal.proto": _DECIMAL,
    "confluent/type/variant.proto": _VARIANT,
    "confluent/types/decimal.proto": 'syntax = "proto3";\nimport public "confluent/type/decimal.proto";\n',
}
"""The text of every file."""


# All built-in files.
#
# ``google/protobuf/*.proto`` come from the descriptors of the protobuf runtime, which is imported at the first use.

_TEXT_BY_PATH: Final = {**GOOGLE_TEXT_BY_PATH, **CONFLUENT_TEXT_BY_PATH}
_RUNTIME_MODULE_BY_PATH: Final = {
    f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2"
    for name in (
        *("any", "api", "descriptor", "duration", "empty", "field_mask"),
        *("source_context", "struct", "timestamp", "type", "wrappers"),
    )
}

KNOWN_PATHS: Final = frozenset((*_TEXT_BY_PATH, *_RUNTIME_MODULE_BY_PATH))
"""The import paths of all built-in files."""


@cache
def known_file(path: str) -> ProtoFile | None:
    """Return the built-in file of an import path; None for a path that needs a reference."""
    text = _TEXT_BY_PATH.get(path)
    if text is None:
        serialized = runtime_descriptor(path)
        if serialized is None:
            return None
        from google.protobuf.descriptor_pb2 import FileDescriptorProto

        from counterfoil.schema.languages.protobuf.describe.from_descriptor import file_from_descriptor

        text = print_file(file_from_descriptor(FileDescriptorProto.FromString(serialized)))
    return parse_file(text, path=path)


def runtime_descriptor(path: str) -> bytes | None:
    """Return the serialized ``FileDescriptorProto`` that the runtime has for a path; None if it has none."""
    module = _RUNTIME_MODULE_BY_PATH.get(path)
    if module is None:
        return None
    serialized: bytes = import_module(module).DESCRIPTOR.serialized_pb
    return serialized
