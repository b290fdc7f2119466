"""Realistic values of the pages that answer questions: compare, try, decode, refusals, rules, search."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterfoil.pages.models import (
    ComparePage,
    CompareView,
    DecodeForm,
    DecodePage,
    FormFault,
    RefusalPage,
    RefusalsPage,
    RulesPage,
    SearchPage,
    TopicPage,
    TryPage,
)
from counterfoil.schema.rest.comparisons import (
    CellAnswer,
    DecodedBytes,
    DecodedNode,
    DecodingFault,
    DraftFault,
    DraftVerdict,
    FrameKind,
    LevelAnswer,
    Operand,
    PlacedChange,
    PlacedFinding,
    ReaderView,
    SchemaComparison,
    ShownWitness,
    VerdictCell,
)
from counterfoil.schema.rest.inspection import (
    ElementElsewhere,
    ElementInspection,
    ElementKind,
    ElementRow,
    ElementStep,
    IdInspection,
    IndexState,
    ReferenceName,
    RuleExample,
    RuleInspection,
    RuleRow,
    RuleRows,
    SourceWindow,
    VersionName,
)
from counterfoil.schema.rest.observations import SchemaCount, TopicStats
from counterfoil.schema.rest.search_index import HitKind, RefusedText, SearchHit, SearchResult
from strategies.pages.sample_values import DAY, INDEX, NOV, READERS, REFUSALS, laid_out, orders_elements, subject_rows

POLICIES: Final = ("STRICT", "LENIENT", "LOGICAL", "SOUND")
LEVELS: Final = ("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")

# Comparisons.


def comparison() -> SchemaComparison:
    """Return the third and the seventh version of the orders, compared."""
    breaks, reads = CellAnswer.BREAKS, CellAnswer.READS
    cells = [
        VerdictCell("STRICT", "backward", reads),
        VerdictCell("STRICT", "forward", breaks, 2),
        VerdictCell("LENIENT", "backward", reads),
        VerdictCell("LENIENT", "forward", breaks, 2),
        VerdictCell("LOGICAL", "backward", breaks, 1),
        VerdictCell("LOGICAL", "forward", breaks, 3),
        VerdictCell("SOUND", "backward", reads, proof="200 values were written and read", in_force=True),
        VerdictCell("SOUND", "forward", breaks, 2, "2 records prove it", in_force=True),
    ]
    levels = [LevelAnswer(each, "FORWARD" not in each and "FULL" not in each) for each in LEVELS]
    levels = [
        replace(
            each,
            refused_by=None if each.accepted else 5,
            direction="" if each.accepted else "forward",
            in_force=each.level == "FULL",
        )
        for each in levels
    ]
    changes = (
        PlacedChange("+", "field-added", "customer.email", "field added", None, "null | string", None, 24, came_in=4),
        PlacedChange(
            "~",
            "type-changed",
            "total",
            "type changed from int to long",
            "int",
            "long",
            31,
            33,
            came_in=6,
            breaks=("forward",),
        ),
        PlacedChange(
            "-", "field-removed", "note", "field removed", "string", None, 40, None, came_in=5, breaks=("forward",)
        ),
        PlacedChange(
            "+",
            "field-added",
            "lines[].discount",
            "field added",
            None,
            "null | decimal(10,2) on bytes",
            None,
            22,
            came_in=7,
        ),
        PlacedChange(
            "~",
            "doc-changed",
            "",
            "documentation changed",
            '"An order."',
            '"An order as it is placed."',
            2,
            2,
            came_in=7,
        ),
    )
    findings = (
        PlacedFinding(
            "type-mismatch",
            "forward",
            "The reader expects int, the writer writes long",
            "total",
            ("STRICT", "LENIENT", "LOGICAL", "SOUND"),
            31,
            33,
            "/fields/3/type",
            "/fields/3/type",
            "Keep int, or add a second field of type long and fill both until every reader uses it.",
            ShownWitness(
                '{"id": 0, "total": 2147483648, "customer": {"id": "…"}}',
                "00808080801000024800",
                "at total: 2147483648 is not an int of 32 bits",
                "fastavro says: “Schema mismatch: long is not int”",
            ),
            readers=READERS[:1],
        ),
        PlacedFinding(
            "reader-field-missing-default",
            "forward",
            "The reader's field note is not written, and has no default",
            "note",
            ("STRICT", "SOUND"),
            40,
            no_witness="No example was searched for: the first ten findings have one.",
        ),
    )
    return SchemaComparison(
        Operand("orders-value", "AVRO", "{}", 3, NOV - 244 * DAY),
        Operand(
            "orders-value", "AVRO", "{}", 7, NOV + 19 * DAY, (ReferenceName("shop.Money", "common-money-value", 2),)
        ),
        "SOUND",
        "FULL",
        tuple(cells),
        tuple(levels),
        changes,
        findings,
        witnesses_left=1,
        at_seq=88_214,
    )


def two_sources() -> tuple[SourceWindow, SourceWindow]:
    """Return two laid-out texts that differ in a few lines."""
    before = [
        '{"type": "record", "name": "Order", "namespace": "shop",',
        ' "doc": "An order.",',
        ' "fields": [',
        '  {"name": "id", "type": "long"},',
        '  {"name": "customer", "type": "shop.Customer"},',
        '  {"name": "total", "type": "int"},',
        '  {"name": "note", "type": "string"},',
        '  {"name": "placed_at", "type": {"type": "long", "logicalType": "timestamp-millis"}}',
        " ]}",
    ]
    after = [
        *before[:1],
        ' "doc": "An order as it is placed.",',
        *before[2:5],
        '  {"name": "total", "type": "long", "doc": "What the customer pays, with taxes, after discounts."},',
        *before[7:8],
        '  {"name": "gift", "type": "boolean", "default": false}',
        *before[8:],
    ]
    return laid_out(before), laid_out(after)


def compare_page(view: CompareView = CompareView.CHANGES, show: str = "all") -> ComparePage:
    """Return the page of a comparison."""
    earlier, later = two_sources()
    return ComparePage(
        comparison(),
        "orders-value@3",
        "orders-value@7",
        view=view,
        show=show,
        earlier_source=earlier,
        later_source=later,
        policies=POLICIES,
        versions=tuple(VersionName("orders-value", each) for each in (1, 2, 4, 6)),
        command="counterfoil diff orders-value@3 orders-value@7 --registry http://localhost:8081",
    )


EQUAL: Final = ComparePage(
    replace(
        comparison(),
        cells=(),
        levels=(),
        changes=(),
        findings=(),
        witnesses_left=0,
        note="Both versions have the same text.",
    ),
    "orders-value@3",
    "refunds-value@3",
    policies=POLICIES,
)
NO_OPERANDS: Final = ComparePage(policies=POLICIES)
WRONG_OPERAND: Final = ComparePage(
    earlier="orders-value@99",
    later="orders-value@7",
    policies=POLICIES,
    faults=(FormFault("from", "There is no version 99 of orders-value: its versions are 1 to 7"),),
)

# Drafts.

DRAFT: Final = """{"type": "record", "name": "Order", "namespace": "shop", "fields": [
  {"name": "id", "type": "long"},
  {"name": "total", "type": "int"}
]}"""
TRY_FORM: Final = TryPage(subject="orders-value", levels=LEVELS, policies=POLICIES)


def try_refused() -> TryPage:
    """Return a draft that would be refused."""
    verdict = DraftVerdict(
        "orders-value",
        "AVRO",
        accepted=False,
        reasons=("Version 7 cannot be read with it: total expects int, long was written",),
        warnings=("The field total has no documentation",),
        next_version=8,
        canonical=DRAFT.replace("\n", ""),
        comparison=replace(comparison(), later=Operand("orders-value", "AVRO", DRAFT)),
        readers=READERS[:1],
        advice=("Add a field total_cents of type long, and leave total as it is.",),
    )
    return replace(
        TRY_FORM,
        schema=DRAFT,
        verdict=verdict,
        curl="curl -X POST http://localhost:8081/subjects/orders-value/versions --json @request.json",
        check="counterfoil check order.avsc --against registry --registry http://localhost:8081",
        bridge="counterfoil bridge init orders-value@7 order.avsc",
        share_url="/ui/try?draft=eJyrVkpUslJQMlSqBQASbQLm",
    )


def try_accepted() -> TryPage:
    """Return a draft that would be accepted."""
    verdict = DraftVerdict("orders-value", "AVRO", accepted=True, next_version=8, canonical=DRAFT)
    return replace(TRY_FORM, schema=DRAFT, verdict=verdict)


def try_broken() -> TryPage:
    """Return a draft that is no schema."""
    verdict = DraftVerdict("orders-value", "AVRO", DraftFault("a comma is missing after the name", 2, 18, "/fields/0"))
    return replace(TRY_FORM, schema=DRAFT[:70], verdict=verdict)


TRY_FAULTS: Final = replace(
    TRY_FORM,
    schema=DRAFT,
    references="shop.Money common-money-value two",
    faults=(
        FormFault("references", "Line 1: the version is a number, not “two”"),
        FormFault("", "The level HIGH does not exist"),
    ),
)

# Bytes.

BYTES: Final = "0000001267008080808010022061" + "6e614073686f702e6578616d706c65"


def decoded() -> DecodePage:
    """Return the bytes of an order, read to their end."""
    nodes = (
        DecodedNode(0, 1, "magic", "magic byte: id"),
        DecodedNode(1, 5, "schema id", "int", "4711"),
        DecodedNode(5, 6, "id", "long", "0"),
        DecodedNode(6, 11, "total", "long", "2147483648"),
        DecodedNode(11, 29, "customer", "shop.Customer"),
        DecodedNode(11, 29, "customer.email", "null | string", depth=1, is_masked=True),
    )
    found = DecodedBytes(
        BYTES,
        FrameKind.ID,
        "AVRO",
        4711,
        "8b7c1d52-6f0e-4b9a-9a3c-2f1d0c5e77a1",
        (VersionName("orders-value", 7, 4711), VersionName("refunds-value", 3, 4711)),
        nodes,
        '{"id": 0, "total": 2147483648}',
        reader=ReaderView("orders-value", 3, fault="expects int, long was written", path="total"),
    )
    return DecodePage(
        DecodeForm("00 00 00 12 67 00 80 80 80 80 10 02 20", "", "orders", reader="orders-value@3"), found
    )


def decoded_in_part() -> DecodePage:
    """Return bytes that end too early."""
    fault = DecodingFault(6, "total", "a long of up to ten bytes", "the bytes end in the middle of a number")
    nodes = (DecodedNode(5, 6, "id", "long", "0"),)
    found = DecodedBytes("000000126700" + "80", FrameKind.ID, "AVRO", 4711, nodes=nodes, fault=fault)
    return DecodePage(DecodeForm("00 00 00 12 67 00 80"), found)


def decoded_without_frame() -> DecodePage:
    """Return bytes without a frame, which two versions read."""
    found = DecodedBytes(
        "0002", FrameKind.NONE, candidates=(VersionName("orders-value", 1), VersionName("orders-value", 2))
    )
    return DecodePage(DecodeForm("00 02", "orders-value"), found)


# Elements, ids, topics.


def element() -> ElementInspection:
    """Return the life of a field."""
    field = ElementKind.FIELD
    plain = ElementRow("customer.email", field, "string", doc="The address.")
    later = ElementRow("customer.email", field, "null | string", default="null", doc="As typed.", tags=("PII",))
    steps = (
        ElementStep(3, plain, registered=NOV - 244 * DAY),
        ElementStep(4, later, ("type string became null | string", "tag PII added"), NOV - 80 * DAY),
        ElementStep(5, None, ("removed",), NOV - 70 * DAY, is_deleted=True),
        ElementStep(6, later, ("added again",), NOV - 61 * DAY),
    )
    elsewhere = (
        ElementElsewhere("carts-value", 5, "buyer.email", "string"),
        ElementElsewhere(":.eu:crm-value", 2, "payload<Customer>.email", "null | string"),
    )
    return ElementInspection("orders-value", "customer.email", steps, READERS[:1], elsewhere, "checkout")


def identified() -> IdInspection:
    """Return what has an id."""
    uses = (
        VersionName("orders-value", 7, 4711),
        VersionName("refunds-value", 3, 4711, is_deleted=True),
        VersionName(":.eu:orders-value", 4, 93),
    )
    return IdInspection("8b7c1d52-6f0e-4b9a-9a3c-2f1d0c5e77a1", "AVRO", "shop.Order", 4711, "", uses)


def topic() -> TopicPage:
    """Return a topic with the counts of its records."""
    rows = subject_rows().subjects
    counts = (
        SchemaCount(4711, 18_233, "orders-value", 7),
        SchemaCount(4402, 1_204_551, "orders-value", 6),
        SchemaCount(99, 3),
    )
    stats = TopicStats(
        "orders", "production", 1_222_787, 12, 3, counts, is_complete=True, oldest_version=6, counted_ts=NOV
    )
    return TopicPage("orders", rows[5], rows[3], orders_elements()[:6], orders_elements()[:1], 8, rows[6:7], (stats,))


# Rules, refusals, search.

RULE: Final = RuleRow(
    "type-mismatch", "AVRO", "The reader's type cannot hold what the writer's type writes", POLICIES, "TYPE_MISMATCH"
)
RULES_PAGE: Final = RulesPage(
    RuleRows(
        (
            RULE,
            RuleRow(
                "reader-field-missing-default",
                "AVRO",
                "A field of the reader is not written and has no default",
                POLICIES,
            ),
            RuleRow(
                "field-removed-without-reserve",
                "PROTOBUF",
                "A field was removed, and its number is free for another one",
                ("WIRE", "WIRE_JSON"),
            ),
            RuleRow(
                "property-closed",
                "JSON",
                "The reader refuses a property that the writer may write",
                ("STRICT", "SOUND"),
            ),
        )
    ),
    policies=(*POLICIES, "WIRE", "WIRE_JSON"),
)


def rule() -> RuleInspection:
    """Return a rule with its example."""
    example = RuleExample(
        '{"type": "record", "name": "R", "fields": [\n  {"name": "total", "type": "int"}\n]}',
        '{"type": "record", "name": "R", "fields": [\n  {"name": "total", "type": "long"}\n]}',
        "The earlier schema cannot read the later one: the reader expects int, the writer writes long",
        '{"total": 2147483648}',
        "at total: 2147483648 is not an int of 32 bits",
    )
    return RuleInspection(
        RULE,
        "Avro reads a number only as a type that holds all of its values.",
        "Keep the type.",
        "Add a second field.",
        example,
    )


def refusal() -> RefusalPage:
    """Return why a registration was refused."""
    refused = RefusedText(
        REFUSALS.refusals[0],
        "AVRO",
        DRAFT,
        88_013,
        (ReferenceName("shop.Money", "common-money-value", 2),),
        ("reader type: INT, writer type: LONG, at /fields/1/type",),
    )
    return RefusalPage(refused, try_refused().verdict)


REFUSALS_PAGE: Final = RefusalsPage(REFUSALS)


def search() -> SearchPage:
    """Return a search with hits of several kinds."""
    hits = (
        SearchHit(
            HitKind.SUBJECT, "customer-email-value", "customer-email-value", 4, schema_type="AVRO", marks=((0, 14),)
        ),
        SearchHit(
            HitKind.ELEMENT,
            "orders-value",
            "customer.email",
            7,
            "customer.email",
            "string",
            ("PII",),
            since=3,
            marks=((0, 8), (9, 14)),
        ),
        SearchHit(
            HitKind.ELEMENT,
            ":.eu:crm-value",
            "payload<Customer>.eMail",
            2,
            "payload<Customer>.eMail",
            "null | string",
            ("PII",),
            since=1,
            marks=((8, 16), (18, 23)),
        ),
        SearchHit(
            HitKind.ELEMENT,
            "carts-value",
            "buyer.email_address",
            None,
            "buyer.email_address",
            "string",
            since=2,
            until=5,
            marks=((6, 11),),
        ),
        SearchHit(
            HitKind.DOC, "orders-value", "…the customer's email, as typed…", 7, "contact.ref", marks=((5, 13), (16, 21))
        ),
        SearchHit(HitKind.TAG, "orders-value", "PII", 7),
        SearchHit(HitKind.ID, "orders-value", "4711", 7),
    )
    result = SearchResult(
        "customer email tag:PII", hits, INDEX, ("37 elements in 12 subjects", "2 subjects", "1 tag"), next="x"
    )
    return SearchPage(result, "customer email tag:PII", contexts=(".", ".eu"))


def search_none() -> SearchPage:
    """Return a search without hits."""
    index = IndexState("behind", 88_000, 88_214)
    result = SearchResult("custmer", (), index, nearest=("customer", "customers-value"), unknown=("color:red",))
    return SearchPage(result, "custmer color:red", contexts=(".",))
