"""Every page with realistic values: taxi rides and a shop.

``python -m strategies.pages.samples FOLDER`` writes them to a folder, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from counterfoil.pages.frame import Crumb, EarlierState, Notice, NoticeKind, PageFrame
from counterfoil.pages.links import Section, ServerLinks
from counterfoil.pages.models import (
    ChangesPage,
    CompareView,
    DecodePage,
    ErrorPage,
    HelpPage,
    HomePage,
    ReferencesPage,
    RefusalsPage,
    SearchPage,
    SubjectPage,
    SubjectsPage,
    SubjectTab,
    TopicPage,
    VersionPage,
    VersionView,
)
from counterfoil.pages.render import render_page
from counterfoil.pages.static import assets
from counterfoil.schema.rest.inspection import IndexState, ReferenceGraph, RegistryInspection, SubjectRows
from counterfoil.schema.rest.search_index import RefusalRows
from strategies.pages import asked_samples as asked
from strategies.pages.sample_values import (
    CHANGES,
    INDEX,
    NOV,
    REFUSALS,
    graph,
    orders,
    orders_version,
    source_lines,
    subject_rows,
)

LINKS: Final = ServerLinks(assets=assets().hash)


@dataclass(frozen=True)
class SamplePage:
    """A page with its value and its frame; ``file`` is the name under which it is written."""

    file: str
    page: str
    value: object
    frame: PageFrame

    def html(self) -> str:
        """Return the page."""
        return render_page(self.page, self.value, self.frame)


def framed(title: str, section: Section | None = None, *crumbs: Crumb, **more: object) -> PageFrame:
    """Return a frame as a server makes it."""
    frame = PageFrame(
        title,
        LINKS,
        version="0.3.0",
        section=section,
        crumbs=(Crumb("Home", LINKS.home()), *crumbs),
        here="/ui/",
        index=INDEX,
        change=88_214,
        json_url="/inspect/v1/subjects",
    )
    return replace(frame, **more)  # type: ignore[arg-type] # the members of a frame by their names


def samples() -> Iterator[SamplePage]:
    """Yield every page with its values and in its states."""
    yield from _looking()
    yield from _asking()
    yield from _around()


def _looking() -> Iterator[SamplePage]:
    subjects = Crumb("Subjects", LINKS.subjects())
    orders_crumb = Crumb("orders-value", LINKS.subject("orders-value"))
    rows = SubjectsPage(subject_rows(), contexts=(".", ".eu", ".old"))
    yield SamplePage("subjects", "subjects", rows, framed("Subjects", Section.SUBJECTS, Crumb("Subjects")))
    none = SubjectsPage(SubjectRows(()), prefix="ordres", contexts=(".",))
    yield SamplePage("subjects-none", "subjects", none, framed("Subjects", Section.SUBJECTS, Crumb("Subjects")))
    frame = framed("orders-value", Section.SUBJECTS, subjects, Crumb("orders-value"))
    yield SamplePage("subject", "subject", SubjectPage(orders()), frame)
    for tab in list(SubjectTab)[1:]:
        value = SubjectPage(orders(), tab, graph(), CHANGES[1:3], REFUSALS)
        yield SamplePage(f"subject-{tab}", "subject", value, frame)
    past = EarlierState("42", LINKS.subject("orders-value"), 42, NOV, ("readers", "refusals"))
    links = replace(LINKS, as_of="42")
    yield SamplePage("subject-as-of", "subject", SubjectPage(orders()), replace(frame, as_of=past, links=links))
    frame = framed("orders-value v7", Section.SUBJECTS, subjects, orders_crumb, Crumb("v7"))
    version = orders_version()
    yield SamplePage(
        "version", "version", VersionPage(version), replace(frame, command="counterfoil schema show orders-value@7")
    )
    yield SamplePage("version-source", "version", VersionPage(version, VersionView.SOURCE, source_lines()), frame)
    raw = VersionPage(version, VersionView.RAW, raw='{"type":"record","name":"Order","namespace":"shop","fields":[]}')
    yield SamplePage("version-raw", "version", raw, frame)
    gone = replace(version, step=replace(version.step, is_deleted=True))
    notice = Notice(NoticeKind.WARNING, "This version was soft-deleted. Everything is still readable.", ts=NOV)
    yield SamplePage("version-deleted", "version", VersionPage(gone), replace(frame, notices=(notice,)))


def _asking() -> Iterator[SamplePage]:
    compare = framed("Compare orders-value v3 with v7", Section.COMPARE, Crumb("Compare"))
    yield SamplePage("compare", "compare", asked.compare_page(), compare)
    yield SamplePage("compare-breaking", "compare", asked.compare_page(show="breaking"), compare)
    yield SamplePage("compare-split", "compare", asked.compare_page(CompareView.SPLIT), compare)
    yield SamplePage("compare-inline", "compare", asked.compare_page(CompareView.INLINE), compare)
    yield SamplePage("compare-equal", "compare", asked.EQUAL, compare)
    yield SamplePage("compare-form", "compare", asked.NO_OPERANDS, compare)
    yield SamplePage("compare-fault", "compare", asked.WRONG_OPERAND, compare)
    frame = framed("Try a change", Section.TRY, Crumb("Try a change"))
    yield SamplePage("try", "try", asked.TRY_FORM, frame)
    yield SamplePage("try-refused", "try", asked.try_refused(), frame)
    yield SamplePage("try-accepted", "try", asked.try_accepted(), frame)
    yield SamplePage("try-broken", "try", asked.try_broken(), frame)
    yield SamplePage("try-faults", "try", asked.TRY_FAULTS, frame)
    frame = framed("Decode", Section.DECODE, Crumb("Decode"))
    yield SamplePage("decode", "decode", DecodePage(), frame)
    yield SamplePage("decode-read", "decode", asked.decoded(), frame)
    yield SamplePage("decode-part", "decode", asked.decoded_in_part(), frame)
    yield SamplePage("decode-candidates", "decode", asked.decoded_without_frame(), frame)
    frame = framed("Refusals", Section.REFUSALS, Crumb("Refusals"))
    yield SamplePage("refusals", "refusals", asked.REFUSALS_PAGE, frame)
    yield SamplePage("refusals-none", "refusals", RefusalsPage(RefusalRows(()), "orders-value"), frame)
    yield SamplePage("refusal", "refusal", asked.refusal(), frame)
    frame = framed("Rules", Section.RULES, Crumb("Rules"))
    yield SamplePage("rules", "rules", asked.RULES_PAGE, frame)
    yield SamplePage(
        "rule",
        "rule",
        asked.rule(),
        framed("type-mismatch", Section.RULES, Crumb("Rules", LINKS.rules()), Crumb("type-mismatch")),
    )


def _around() -> Iterator[SamplePage]:
    registry = RegistryInspection(104_233, 1_000_412, (".", ".eu", ".test"), INDEX, 88_214)
    yield SamplePage("home", "home", HomePage(registry, CHANGES, "http://localhost:8081"), framed("Home", crumbs=()))
    empty = RegistryInspection(0, 0, (), IndexState("current"), 0)
    yield SamplePage("home-empty", "home", HomePage(empty, (), "http://localhost:8081"), framed("Home", crumbs=()))
    frame = framed("Search", None, Crumb("Search"), search="customer email tag:PII")
    yield SamplePage("search", "search", asked.search(), frame)
    yield SamplePage("search-none", "search", asked.search_none(), frame)
    yield SamplePage("search-empty", "search", SearchPage(None), frame)
    yield SamplePage(
        "element",
        "element",
        asked.element(),
        framed(
            "customer.email",
            Section.SUBJECTS,
            Crumb("orders-value", LINKS.subject("orders-value")),
            Crumb("customer.email"),
        ),
    )
    yield SamplePage("id", "id", asked.identified(), framed("Schema id 4711", Section.SUBJECTS, Crumb("id 4711")))
    frame = framed("References", Section.SUBJECTS, Crumb("References"))
    yield SamplePage("references", "references", ReferencesPage(graph(), "both"), frame)
    yield SamplePage("references-none", "references", ReferencesPage(ReferenceGraph("orders-value", 7, ())), frame)
    yield SamplePage("topic", "topic", asked.topic(), framed("Topic orders", Section.SUBJECTS, Crumb("orders")))
    yield SamplePage(
        "topic-none", "topic", TopicPage("nothing"), framed("Topic nothing", Section.SUBJECTS, Crumb("nothing"))
    )
    kinds = ("version-registered", "version-deleted", "version-removed", "settings-changed")
    changes = ChangesPage(CHANGES, kinds, next=88_211)
    yield SamplePage(
        "changes", "changes", changes, framed("Changes", Section.CHANGES, Crumb("Changes"), may_stream=True)
    )
    yield SamplePage(
        "changes-none",
        "changes",
        ChangesPage((), kinds, subject="nothing"),
        framed("Changes", Section.CHANGES, Crumb("Changes")),
    )
    yield SamplePage("registry", "registry", registry, framed("Registry", Section.REGISTRY, Crumb("Registry")))
    yield SamplePage("help", "help", HelpPage("http://localhost:8081"), framed("Help", None, Crumb("Help")))
    missing = ErrorPage(404, "Not found", "Version 9 not found.", 40402, "5f6c0a77b1", "version 9", ("orders-value",))
    yield SamplePage("error-404", "error", missing, framed("Not found"))
    away = ErrorPage(
        503,
        "The store cannot be reached",
        "The database does not answer. Nothing was changed.",
        50301,
        "5f6c0a77b1",
        retry_s=5,
    )
    yield SamplePage("error-503", "error", away, replace(framed("The store cannot be reached"), refresh_s=5))


def write_samples(folder: Path) -> None:
    """Write every sample page to a folder, with the static files beside them."""
    static = folder / "static"
    static.mkdir(parents=True, exist_ok=True)
    for file in assets().files.values():
        (static / file.name).write_bytes(file.body)
    for sample in samples():
        html = sample.html().replace(f"/ui/static/{assets().hash}/", "static/")
        (folder / f"{sample.file}.html").write_text(html, encoding="utf-8")


if __name__ == "__main__":
    write_samples(Path(sys.argv[1]))
