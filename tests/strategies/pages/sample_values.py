"""Realistic values that pages show: the subjects of a shop and of a taxi company, and one of them in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterfoil.pages.models import ChangeLine
from counterfoil.schema.rest.inspection import (
    ElementKind,
    ElementRow,
    ElementRows,
    IndexState,
    MetadataRow,
    NamedThing,
    ReaderRow,
    ReferenceEdge,
    ReferenceGraph,
    ReferenceName,
    RuleInForce,
    RuleSetRow,
    SourceLine,
    SourceToken,
    SourceWindow,
    SubjectInspection,
    SubjectRow,
    SubjectRows,
    VersionInspection,
    VersionName,
    VersionStep,
)
from counterfoil.schema.rest.search_index import RefusalRow, RefusalRows

DAY: Final = 86_400_000
NOV: Final = 1_793_534_400_000
"""2026-11-01 12:00 UTC."""
INDEX: Final = IndexState("current", 88_214, 88_214)

# Subjects.


def subject_rows() -> SubjectRows:
    """Return the first subjects of a shop and of a taxi company."""
    names = [
        ("carts-value", ".", "AVRO", 5, "BACKWARD", "STRICT"),
        ("common-money-value", ".", "AVRO", 2, "FULL_TRANSITIVE", "SOUND"),
        ("com/shop/order.proto", ".", "PROTOBUF", 3, "BACKWARD", "WIRE"),
        ("customers-key", ".", "AVRO", 1, "NONE", "STRICT"),
        ("customers-value", ".", "JSON", 12, "FULL", "SOUND"),
        ("orders-value", ".", "AVRO", 7, "FULL", "SOUND"),
        ("refunds-value", ".", "AVRO", 3, "BACKWARD", "SOUND"),
        (":.eu:orders-value", ".eu", "AVRO", 4, "FULL", "SOUND"),
        ("taxi.rides-value", ".", "AVRO", 9, "BACKWARD_TRANSITIVE", "SOUND"),
        (
            "taxi.rides-by-driver-and-borough-and-hour-of-the-day-with-surcharges-value",
            ".",
            "PROTOBUF",
            2,
            "FORWARD",
            "WIRE_JSON",
        ),
        ("taxi.zones-key", ".", "JSON", 1, "BACKWARD", "STRICT"),
        ("taxi.zones-value", ".", "JSON", 2, "BACKWARD", "STRICT"),
        ("test-old-value", ".", "AVRO", 2, "BACKWARD", "STRICT"),
    ]
    return SubjectRows(
        tuple(
            SubjectRow(
                name,
                context,
                kind,
                count,
                count,
                4000 + 59 * at,
                NOV + at * DAY - 40 * DAY,
                level,
                policy,
                name == "test-old-value",
            )
            for at, (name, context, kind, count, level, policy) in enumerate(names)
        ),
        next="test-old-value",
    )


def orders_steps() -> tuple[VersionStep, ...]:
    """Return the versions of the orders."""
    guid = "8b7c1d52-6f0e-4b9a-9a3c-2f1d0c5e77a1"
    return (
        VersionStep(1, 1201, guid, NOV - 290 * DAY, None),
        VersionStep(
            2,
            1340,
            guid,
            NOV - 262 * DAY,
            "ana",
            added=1,
            change="added lines[].price",
            strict_backward=True,
            strict_forward=True,
            sound_backward=True,
            sound_forward=True,
        ),
        VersionStep(
            3,
            1377,
            guid,
            NOV - 244 * DAY,
            "ana",
            added=1,
            change="added customer.email",
            strict_backward=True,
            strict_forward=True,
            sound_backward=True,
            sound_forward=True,
        ),
        VersionStep(
            4,
            3990,
            guid,
            NOV - 80 * DAY,
            "ci-checkout",
            added=1,
            changed=1,
            change="added status",
            strict_backward=True,
            strict_forward=True,
            sound_backward=True,
            sound_forward=True,
        ),
        VersionStep(
            5,
            4021,
            guid,
            NOV - 70 * DAY,
            "ci-checkout",
            is_deleted=True,
            removed=1,
            change="removed note",
            strict_backward=True,
            strict_forward=False,
            sound_backward=True,
            sound_forward=False,
        ),
        VersionStep(
            6,
            4402,
            guid,
            NOV - 61 * DAY,
            "ci-checkout",
            changed=1,
            change="total: int became long",
            strict_backward=True,
            strict_forward=False,
            sound_backward=True,
            sound_forward=False,
        ),
        VersionStep(
            7,
            4711,
            guid,
            NOV + 19 * DAY,
            "ci-checkout",
            added=2,
            changed=1,
            change="added gift, lines[].discount",
            strict_backward=True,
            strict_forward=True,
            sound_backward=True,
            sound_forward=None,
        ),
    )


READERS: Final = (
    ReaderRow(
        "billing", "4.7.1", "orders.placed", ("id", "total", "customer.email"), ("production", "test"), NOV + 28 * DAY
    ),
    ReaderRow("audit", "1.2.0", "orders.placed", ("*",), ("production",)),
    ReaderRow(
        "fraud-scoring",
        "2026.11",
        "orders.placed",
        ("total", "lines[].price", "customer.id"),
        ("production",),
        NOV + 27 * DAY,
        "quiet for a day",
    ),
)
RULES: Final = (
    RuleInForce("compatibility", '"FULL"', "orders-value", seq=88_010, ts=NOV - 30 * DAY, by="ana"),
    RuleInForce("compatibilityPolicy", '"SOUND"', "", why="left open here", seq=12, ts=NOV - 300 * DAY),
    RuleInForce("normalize", "true", "", why="left open here", seq=12, ts=NOV - 300 * DAY),
    RuleInForce(
        "defaultMetadata",
        '{"properties": {"owner": "platform"}}',
        "",
        applies=False,
        why="this subject has an entry of its own",
        seq=12,
        ts=NOV - 300 * DAY,
    ),
    RuleInForce("mode", '"READWRITE"'),
)


def orders() -> SubjectInspection:
    """Return the subject of the orders."""
    return SubjectInspection(
        subject="orders-value",
        context=".",
        schema_type="AVRO",
        name="shop.Order",
        versions=orders_steps(),
        version_count=7,
        deleted_count=1,
        rules=RULES,
        references=(ReferenceName("shop.Money", "common-money-value", 2),),
        referrers=(VersionName("refunds-value", 3), VersionName("invoices-value", 1, is_deleted=True)),
        readers=READERS,
        things=(
            NamedThing("contract", "orders.placed", "version 2.1.0, owned by checkout"),
            NamedThing("bridge", "orders-v2-to-v1", "running, 99.2 % converted"),
            NamedThing("key", "orders-pii", "AWS KMS"),
        ),
        topics=("orders",),
        aliases=("orders-old-value",),
        owner="checkout",
        refusals=2,
    )


def graph() -> ReferenceGraph:
    """Return the references around the orders."""
    edges = [
        ReferenceEdge("orders-value", 7, "common-money-value", 2, "shop.Money"),
        ReferenceEdge("orders-value", 7, "common-address-value", 4, "shop.Address"),
        ReferenceEdge("common-address-value", 4, "common-country-value", 1, "shop.Country", 2),
        ReferenceEdge("common-money-value", 2, "common-currency-value", 1, "shop.Currency", 2),
        ReferenceEdge("refunds-value", 3, "orders-value", 7, "shop.Order"),
        ReferenceEdge("invoices-value", 1, "orders-value", 7, "shop.Order"),
        ReferenceEdge("ledger-value", 9, "invoices-value", 1, "shop.Invoice", 2),
    ]
    return ReferenceGraph("orders-value", 7, tuple(edges))


# Versions.


def orders_elements() -> tuple[ElementRow, ...]:
    """Return the elements of the latest orders."""
    field = ElementKind.FIELD
    return (
        ElementRow("id", field, "long", doc="Order number.", tags=("key",), pointer="/fields/0", line=5, since=1),
        ElementRow("customer", field, "shop.Customer", ("shop.Customer",), line=6, since=1),
        ElementRow(
            "customer.id",
            field,
            "uuid on string",
            doc="The account, not the person who pays.",
            line=10,
            depth=1,
            since=1,
        ),
        ElementRow(
            "customer.email",
            field,
            "null | string",
            default="null",
            doc="As typed.\nMay have been wrong\u202e.",
            tags=("PII",),
            line=11,
            depth=1,
            since=3,
        ),
        ElementRow(
            "customer.eMail",
            field,
            "null | string",
            default="null",
            tags=("PII",),
            line=12,
            depth=1,
            since=1,
            is_deprecated=True,
            aliases=("mail",),
        ),
        ElementRow("lines[]", field, "array of shop.Line", ("shop.Line",), line=16, since=1),
        ElementRow("lines[].sku", field, "string", doc="Stock keeping unit.", line=20, depth=1, since=1),
        ElementRow("lines[].price", field, "decimal(10,2) on bytes", doc="Net, per piece.", line=21, depth=1, since=2),
        ElementRow(
            "lines[].discount", field, "null | decimal(10,2) on bytes", default="null", line=22, depth=1, since=7
        ),
        ElementRow(
            "total",
            field,
            "shop.Money",
            ("shop.Money",),
            doc="What the customer pays: the sum of all lines with taxes, after every discount, before refunds.",
            line=27,
            since=6,
            reference="shop.Money",
        ),
        ElementRow(
            "status",
            field,
            "enum shop.Status",
            ("shop.Status",),
            default='"NEW"',
            symbols=("NEW", "PAID", "SENT", "RETURNED"),
            line=28,
            since=4,
        ),
        ElementRow(
            "placed_at",
            field,
            "timestamp in milliseconds on long",
            doc="When the order was placed, in UTC.",
            line=33,
            since=1,
        ),
        ElementRow("gift", field, "boolean", default="false", line=34, since=7),
        ElementRow(
            "p\u0430yment",
            field,
            "null | string",
            default="null",
            doc="Looks like payment, and is not.",
            line=35,
            since=7,
        ),
    )


def orders_version() -> VersionInspection:
    """Return the latest version of the orders."""
    rows = orders_elements()
    kind = ElementKind.TYPE
    return VersionInspection(
        subject="orders-value",
        context=".",
        version=7,
        id=4711,
        guid="8b7c1d52-6f0e-4b9a-9a3c-2f1d0c5e77a1",
        schema_type="AVRO",
        name="shop.Order",
        step=orders_steps()[-1],
        elements=ElementRows(rows, len(rows)),
        types=(
            ElementRow("shop.Order", kind, "record", line=1, doc="An order as it is placed."),
            ElementRow("shop.Customer", kind, "record", line=7),
            ElementRow("shop.Line", kind, "record", line=17),
            ElementRow("shop.Status", kind, "enum", symbols=("NEW", "PAID", "SENT", "RETURNED"), line=28),
            ElementRow("shop.Money", kind, "record", reference="shop.Money"),
        ),
        uses=(VersionName("refunds-value", 3, 4711), VersionName(":.eu:orders-value", 4, 93)),
        references=(ReferenceName("shop.Money", "common-money-value", 2),),
        referrers=(VersionName("refunds-value", 3),),
        rules=(
            RuleSetRow("encrypt", "TRANSFORM", "WRITEREAD", "ENCRYPT", tags=("PII",), doc="Personal data."),
            RuleSetRow("positive", "CONDITION", "WRITE", "CEL", expr="message.total.amount >= 0"),
        ),
        metadata=(
            MetadataRow("owner", "checkout"),
            MetadataRow("runbook", "https://wiki.shop.example/orders"),
            MetadataRow("password", "", is_sensitive=True),
        ),
        tags=("gold",),
        warnings=("customer.eMail and customer.email differ in case only",),
        text_chars=1_834,
        previous=6,
        latest=7,
    )


def source_lines() -> SourceWindow:
    """Return the laid-out text of the orders."""
    lines = [
        '{"type": "record", "name": "Order", "namespace": "shop",',
        ' "doc": "An order as it is placed.",',
        ' "fields": [',
        '  {"name": "id", "type": "long", "tags": ["key"]},',
        '  {"name": "customer", "type": {"type": "record", "name": "Customer", "fields": [',
        '    {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},',
        '    {"name": "email", "type": ["null", "string"], "default": null}]}},',
        '  {"name": "total", "type": "shop.Money"},',
        '  {"name": "count", "type": "int", "default": 12}',
        " ]}",
    ]
    return laid_out(lines)


def laid_out(lines: Sequence[str]) -> SourceWindow:
    """Return lines of JSON with their tokens."""
    return SourceWindow("AVRO", tuple(_line(at + 1, text) for at, text in enumerate(lines)), len(lines))


def _line(number: int, text: str) -> SourceLine:
    tokens: list[SourceToken] = []
    for at, part in enumerate(text.split('"')):
        if at % 2:
            kind = (
                "name"
                if part in {"type", "name", "fields", "doc", "namespace", "default", "logicalType", "tags"}
                else "text"
            )
            tokens.append(SourceToken(f'"{part}"', kind, "shop.Money" if part == "shop.Money" else ""))
        elif part.strip(" ,:[]{}") in {"null", "true", "false"} and part.strip(" ,:[]{}"):
            tokens.append(SourceToken(part, "word"))
        elif any(each.isdigit() for each in part):
            tokens.append(SourceToken(part, "number"))
        elif part:
            tokens.append(SourceToken(part))
    return SourceLine(number, tuple(tokens), f"/{number}")


CHANGES: Final = (
    ChangeLine(
        88_214,
        NOV + 28 * DAY + 3_600_000,
        "version-registered",
        "Version 9 was registered",
        "taxi.rides-value",
        9,
        "ci-rides",
    ),
    ChangeLine(88_213, NOV + 28 * DAY, "settings-changed", "The level became FULL", "orders-value", None, "ana"),
    ChangeLine(88_212, NOV + 27 * DAY, "version-deleted", "Version 5 was soft-deleted", "orders-value", 5, None),
    ChangeLine(
        88_211,
        NOV + 27 * DAY - 5_000,
        "context-deleted",
        "The context .old was removed from the list",
        "",
        None,
        "root",
    ),
)
REFUSALS: Final = RefusalRows(
    (
        RefusalRow(
            "5f6c0a77b1",
            "orders-value",
            409,
            "Schema being registered is incompatible with version 6: field total expects int, long was written",
            NOV,
            NOV + 2 * DAY,
            14,
            "ci-checkout",
        ),
        RefusalRow(
            "0b7d3e9a21",
            "taxi.rides-value",
            42201,
            "Input schema is an invalid Avro schema: line 3, column 14: a name has a hyphen",
            NOV,
            NOV,
            1,
            None,
        ),
    )
)
