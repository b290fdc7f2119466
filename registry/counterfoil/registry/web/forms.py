"""The builders of pages with forms: comparisons, drafts, bytes, and the verdict about a refused draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, TypeVar

from counterfoil.pages.frame import Crumb
from counterfoil.pages.links import Section, split_operand
from counterfoil.pages.models import ComparePage, CompareView, DecodeForm, DecodePage, FormFault, RefusalPage, TryPage
from counterfoil.registry.inspection.comparisons import QUICK, OperandText
from counterfoil.registry.inspection.decoding import BytesGiven
from counterfoil.registry.web.drafts import curl_command, diff_command, pack_draft, read_references, unpack_draft
from counterfoil.registry.web.endpoint import BuiltPage, PageRequest, quoted
from counterfoil.schema.comparing import ComparisonLimits
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.errors import BadRequest, Forbidden, RegistryError
from counterfoil.schema.model import Reference, SchemaType
from counterfoil.schema.rest.comparisons import DraftVerdict, Operand, SchemaComparison
from counterfoil.schema.rest.inspection import SourceWindow, VersionName
from counterfoil.schema.rest.search_index import RefusedText

_T = TypeVar("_T")

_LINES: Final = 500
_VERSIONS: Final = 100
_MISSING: Final = ("readers",)
"""What a page about changes does not know of an earlier moment."""

_FAULTY: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
_POLICIES: Final = tuple(each.value for each in CompatibilityPolicy)
_LEVELS: Final = tuple(each.value for each in CompatibilityLevel)
_BY_POLICY: Final[Mapping[str, CompatibilityPolicy]] = {each.value: each for each in CompatibilityPolicy}
_BY_LEVEL: Final[Mapping[str, CompatibilityLevel]] = {each.value: each for each in CompatibilityLevel}


def _chosen(name: str, text: str, known: Mapping[str, _T]) -> _T | None:
    """Return the value that an entry of a form names; None for an empty one; raise ``BadRequest`` for others."""
    if text and text not in known:
        raise BadRequest(f"{name} is {text[:80]!r}; expected one of {', '.join(known)}")
    return known.get(text)


def _is_fault(error: RegistryError) -> bool:
    """Return whether an error is about what a form was filled with, whatever exists in the registry."""
    return error.status in _FAULTY and not isinstance(error, Forbidden)


# Comparisons of two versions.


async def build_compare(request: PageRequest) -> BuiltPage:
    """Return a comparison of two versions, or its form."""
    earlier, later, policy = request.text("from"), request.text("to"), request.text("policy")
    view = request.choice("view", {each.value: each for each in CompareView})
    show = request.choice("show", {"all": "all", "breaking": "breaking"})
    proof = request.choice("proof", {each: each for each in ("", "full")})
    request.viewer.filters()
    empty = ComparePage(
        earlier=earlier, later=later, policy=policy, view=view, show=show, proof=proof, policies=_POLICIES
    )
    if not (earlier and later):
        faults = () if not (earlier or later) else (_missing("from" if later else "to"),)
        return _compare_page(request, replace(empty, faults=faults, versions=await _versions(request, later)))
    request.suggest(diff_command(request.address(), earlier, later))
    comparisons = request.cases.inspection.comparisons
    try:
        chosen = _chosen("policy", policy, _BY_POLICY)
        operands = comparisons.operand(earlier), comparisons.operand(later)
        limits = ComparisonLimits() if proof else QUICK
        compared = await comparisons.verdict(*operands, policy=chosen, limits=limits, viewer=request.viewer)
    except RegistryError as error:
        if not _is_fault(error):
            raise
        return _compare_page(request, replace(empty, faults=(FormFault("", error.message),)), status=error.status)
    page = replace(
        empty,
        comparison=compared,
        earlier_source=await _source(request, compared.earlier, view),
        later_source=await _source(request, compared.later, view),
        versions=await _versions(request, later),
        command=diff_command(request.address(), earlier, later),
    )
    return _compare_page(request, page)


def _missing(name: str) -> FormFault:
    return FormFault(name, "A comparison needs two sides, such as orders-value@3 and orders-value@latest")


def _compare_page(request: PageRequest, page: ComparePage, *, status: int = HTTPStatus.OK) -> BuiltPage:
    found = page.comparison
    title = "Compare" if found is None else f"{_side(found.earlier)} → {_side(found.later)}"
    return BuiltPage(
        "compare",
        page,
        title,
        Section.COMPARE,
        (Crumb("Compare"),),
        json=request.api("/inspect/v1/diff", **{"from": page.earlier, "to": page.later}) if found is not None else "",
        missing=_MISSING,
        texts=() if found is None else _texts(request, found),
        status=status,
        can_be_printed=found is not None,
    )


def _side(side: Operand) -> str:
    return side.subject if side.version is None else f"{side.subject} v{side.version}"


def _texts(request: PageRequest, found: SchemaComparison) -> tuple[Any, ...]:
    sides = (found.earlier, found.later)
    return tuple((request.subject_named(each.subject), each.version) for each in sides if each.version is not None)


async def _source(request: PageRequest, side: Operand, view: CompareView) -> SourceWindow | None:
    """Return the laid-out text of a side, where the view shows it."""
    if view is CompareView.CHANGES or side.version is None:
        return None
    subject = request.subject_named(side.subject)
    stored = await request.cases.catalog.version(subject, side.version, deleted=True)
    return await request.cases.inspection.identifiers.version_source(subject, stored.entry.guid, first=1, count=_LINES)


async def _versions(request: PageRequest, operand: str) -> tuple[VersionName, ...]:
    """Return the versions of the subject of an operand, to be chosen from; none if it names no subject."""
    if not operand:
        return ()
    subject = request.subject_named(split_operand(operand)[0])
    if not request.viewer.may_read(subject):
        return ()
    history = await request.cases.storage.history(subject)
    entries = list(history.entries)[-_VERSIONS:]
    return tuple(VersionName(str(subject), each.version, each.schema_id, each.deleted) for each in reversed(entries))


# Drafts.


async def build_try(request: PageRequest) -> BuiltPage:
    """Return the form of a draft; with a draft in the address also the verdict about it."""
    request.viewer.filters()
    packed = request.text("draft")
    if packed:
        return await _tried(request, unpack_draft(packed))
    page = TryPage(subject=request.text("subject"), levels=_LEVELS, policies=_POLICIES)
    return _try_page(request, page)


async def build_tried(request: PageRequest) -> BuiltPage:
    """Return the verdict about the draft in a form; nothing is written."""
    return await _tried(request, await request.form())


async def _tried(request: PageRequest, form: Mapping[str, str]) -> BuiltPage:
    request.viewer.filters()
    page = TryPage(
        subject=form.get("subject", "").strip(),
        schema=form.get("schema", ""),
        schema_type=form.get("schema_type", "").strip() or SchemaType.AVRO.value,
        references=form.get("references", ""),
        level=form.get("level", "").strip(),
        policy=form.get("policy", "").strip(),
        levels=_LEVELS,
        policies=_POLICIES,
        show=form.get("show", "all"),
    )
    faults = _empty_entries(page)
    if faults:
        return _try_page(request, page, faults=faults, status=HTTPStatus.BAD_REQUEST)
    request.suggest("counterfoil check")
    name = ""
    try:
        name = "references"
        references = read_references(page.references)
        name = ""
        verdict = await _verdict(request, page, references)
    except RegistryError as error:
        if not _is_fault(error):
            raise
        return _try_page(request, page, faults=(FormFault(name, error.message),), status=error.status)
    return _try_page(request, _with_ways_on(request, page, verdict, references))


def _empty_entries(page: TryPage) -> tuple[FormFault, ...]:
    entries = {"subject": (page.subject, "a subject"), "schema": (page.schema.strip(), "the text of a schema")}
    return tuple(FormFault(name, f"Expected {what}") for name, (text, what) in entries.items() if not text)


async def _verdict(request: PageRequest, page: TryPage, references: tuple[Reference, ...]) -> DraftVerdict:
    return await request.cases.inspection.comparisons.draft(
        request.subject_named(page.subject),
        OperandText(page.schema, page.schema_type, references, page.subject),
        policy=_chosen("policy", page.policy, _BY_POLICY),
        level=_chosen("level", page.level, _BY_LEVEL),
        viewer=request.viewer,
    )


def _with_ways_on(
    request: PageRequest, page: TryPage, verdict: DraftVerdict, references: tuple[Reference, ...]
) -> TryPage:
    """Return the page with the verdict, and with the commands that go on from there."""
    form = {
        "subject": page.subject,
        "schema": page.schema,
        "schema_type": page.schema_type,
        "references": page.references,
        "level": page.level,
        "policy": page.policy,
    }
    packed = pack_draft(form)
    is_schema = verdict.fault is None
    return replace(
        page,
        verdict=verdict,
        curl=curl_command(
            request.address(),
            page.subject,
            schema=page.schema,
            schema_type=page.schema_type,
            references=references,
        )
        if is_schema
        else "",
        check="counterfoil check",
        bridge="counterfoil bridge plan" if verdict.accepted is False else "",
        share_url=f"{request.links.draft()}?draft={packed}" if packed and not request.as_of else "",
    )


def _try_page(
    request: PageRequest, page: TryPage, *, faults: tuple[FormFault, ...] = (), status: int = HTTPStatus.OK
) -> BuiltPage:
    return BuiltPage(
        "try",
        replace(page, faults=faults) if faults else page,
        f"Try a change of {page.subject}" if page.subject else "Try a change",
        Section.TRY,
        (Crumb("Try a change"),),
        status=status,
        missing=_MISSING,
        texts=()
        if page.verdict is None or page.verdict.comparison is None
        else _texts(request, page.verdict.comparison),
    )


# Bytes.


async def build_decode(request: PageRequest) -> BuiltPage:
    """Return the form of the decode lab."""
    request.viewer.filters()
    form = DecodeForm(subject=request.text("subject"), topic=request.text("topic"))
    return _decode_page(DecodePage(form))


async def build_decoded(request: PageRequest) -> BuiltPage:
    """Return what the bytes in a form mean; they are neither stored nor logged."""
    request.viewer.filters()
    entries = await request.form()
    form = DecodeForm(
        text=entries.get("text", ""),
        subject=entries.get("subject", "").strip(),
        topic=entries.get("topic", "").strip(),
        part="key" if entries.get("part") == "key" else "value",
        reader=entries.get("reader", "").strip(),
        header=entries.get("header", "").strip(),
    )
    shown = entries.get("show") == "true"
    given = BytesGiven(
        form.text,
        header=form.header,
        subject=form.subject,
        topic=form.topic,
        is_key=form.part == "key",
        reader=form.reader,
        shows_masked=shown,
    )
    try:
        decoded = await request.cases.inspection.decoding.decode(given, viewer=request.viewer)
    except RegistryError as error:
        if not _is_fault(error):
            raise
        return _decode_page(DecodePage(form, shown=shown, faults=(FormFault("", error.message),)), status=error.status)
    return _decode_page(DecodePage(form, decoded, shown))


def _decode_page(page: DecodePage, *, status: int = HTTPStatus.OK) -> BuiltPage:
    return BuiltPage("decode", page, "Decode", Section.DECODE, (Crumb("Decode"),), status=status)


# Refused drafts.


async def build_refusal(request: PageRequest) -> BuiltPage:
    """Return a refused registration with the verdict about it, as of the change against which it was judged."""
    request_id = request.segment("request_id")
    refused = await request.cases.inspection.refusals.one(request_id, viewer=request.viewer)
    verdict, why = await _verdict_then(request, refused)
    return BuiltPage(
        "refusal",
        RefusalPage(refused, verdict, why),
        f"Refusal of {refused.refusal.subject}",
        Section.REFUSALS,
        (Crumb("Refusals", request.links.refusals()), Crumb(request_id)),
        json=request.api(f"/inspect/v1/refusals/{quoted(request_id)}"),
    )


async def _verdict_then(request: PageRequest, refused: RefusedText) -> tuple[DraftVerdict | None, str]:
    """Return the verdict about a refused text as of then, or None and why there is none."""
    row = refused.refusal
    references = tuple(Reference(each.name, each.subject, each.version) for each in refused.references)
    text = OperandText(refused.schema, refused.schema_type, references, row.subject)
    try:
        subject = request.subject_named(row.subject)
        inspection = request.cases_as_of(refused.seq).inspection
        return await inspection.comparisons.draft(subject, text, limits=QUICK, viewer=request.viewer), ""
    except Forbidden:
        raise
    except RegistryError as error:
        return None, error.message
