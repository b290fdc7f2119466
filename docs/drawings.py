"""The drawings of README and docs, each as SVG in a light and a dark version, written by ``make docs``."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_FONT = "font-family:-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


class Theme(NamedTuple):
    """The colours of one version of a drawing."""

    text: str
    quiet: str
    line: str
    plain: str
    good: str
    bad: str
    strong: str


THEMES = {
    "light": Theme("#1f2328", "#59636e", "#59636e", "#f6f8fa", "#dafbe1", "#ffebe9", "#ddf4ff"),
    "dark": Theme("#f0f6fc", "#9198a1", "#9198a1", "#151b23", "#12361f", "#3c1618", "#122d4d"),
}


@dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines of explanation below it; `colour` is a name of `Theme`."""

    x: int
    y: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...] = ()
    colour: str = "plain"


@dataclass(frozen=True)
class Arrow:
    """A line with a head at its last point, and a label at ``label_at``."""

    points: tuple[tuple[int, int], ...]
    label: str = ""
    label_at: tuple[int, int] = (0, 0)
    is_dashed: bool = False


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows, and the sentence that says the same to who cannot see them."""

    width: int
    height: int
    about: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


ROAD = Drawing(
    880,
    250,
    "A change of a schema is proposed and checked. If it is compatible it is registered and deployed. If it is not, the"
    " check shows a record that a reader cannot read; the new schema gets a topic of its own, a tested bridge converts"
    " its records for the old readers, and the old topic is retired when nobody reads it.",
    (
        Box(10, 80, 165, 70, "Proposed", ("a change of a schema,", "in a pull request")),
        Box(220, 80, 170, 70, "Checked", ("schema history, readers,", "records of the topic"), "strong"),
        Box(480, 20, 150, 70, "Compatible", ("registered, deployed:", "can-i-deploy says yes"), "good"),
        Box(480, 150, 150, 85, "Incompatible", ("refused, with a record", "that a reader", "cannot read"), "bad"),
        Box(
            705,
            150,
            170,
            85,
            "Bridged",
            ("new topic for the new", "schema; a tested job fills", "the old topic"),
            "strong",
        ),
        Box(705, 20, 170, 70, "Retired", ("nobody reads the old", "version any more"), "good"),
    ),
    (
        Arrow(((175, 115), (217, 115))),
        Arrow(((390, 105), (435, 105), (435, 55), (477, 55)), "yes", (442, 48)),
        Arrow(((390, 125), (435, 125), (435, 190), (477, 190)), "no", (442, 183)),
        Arrow(((630, 192), (702, 192)), "on purpose", (634, 183)),
        Arrow(((790, 150), (790, 93)), "readers move", (702, 125)),
    ),
)

PARTS = Drawing(
    880,
    330,
    "In a repository and its CI run counterfoil check, test and can-i-deploy. The registry is a server with SQLite or"
    " PostgreSQL. Producers and consumers use its serializers, or Confluent's, and talk to Kafka. A bridge is a Spark"
    " job that reads one topic and writes another.",
    (
        Box(
            10,
            20,
            250,
            130,
            "Repository and CI",
            ("counterfoil check, lint, plan, test", "schema files, contracts", "needs git alone"),
            "strong",
        ),
        Box(
            345,
            20,
            230,
            130,
            "Registry",
            ("counterfoil serve", "Confluent's REST API", "contracts, deployments, bridges", "SQLite or PostgreSQL"),
            "strong",
        ),
        Box(
            640,
            20,
            230,
            130,
            "Other clients",
            ("Java, Go, JavaScript, Connect,", "ksqlDB, Confluent's Python:", "unchanged"),
        ),
        Box(10, 210, 190, 90, "Producer", ("counterfoil.sdk serializers", "or Confluent's")),
        Box(265, 210, 230, 90, "Kafka", ("topics; dead-letter topics",)),
        Box(560, 170, 150, 70, "Bridge", ("a PySpark job",), "strong"),
        Box(690, 255, 180, 65, "Consumer", ("counterfoil.sdk, or others",)),
    ),
    (
        Arrow(((260, 85), (342, 85)), "can-i-deploy", (265, 76)),
        Arrow(((640, 85), (578, 85)), "HTTP", (595, 76)),
        Arrow(((105, 210), (105, 180), (385, 180), (385, 153)), "schemas", (205, 174)),
        Arrow(((200, 255), (262, 255)), "records", (207, 247)),
        Arrow(((495, 222), (557, 205)), ""),
        Arrow(((557, 225), (498, 240)), ""),
        Arrow(((495, 285), (687, 285)), "records", (560, 279)),
    ),
)

BRIDGE = Drawing(
    880,
    220,
    "The producer of the new version writes to a new topic with the new schema, which new readers read. The bridge"
    " reads the new topic, converts each record to the old schema and writes it to the old topic, which old readers go"
    " on to read. Records that cannot be converted are written to a dead-letter topic with the reason.",
    (
        Box(10, 20, 150, 70, "New producer", ("version 2",)),
        Box(230, 20, 170, 70, "New topic", ("new schema",), "good"),
        Box(640, 20, 230, 70, "New readers", ("moved one by one",)),
        Box(225, 135, 180, 70, "Bridge", ("converts each record once",), "strong"),
        Box(470, 135, 130, 70, "Old topic", ("old schema",), "good"),
        Box(690, 135, 180, 70, "Old readers", ("go on unchanged",)),
        Box(10, 135, 150, 70, "Dead letters", ("with the reason",), "bad"),
    ),
    (
        Arrow(((160, 55), (227, 55))),
        Arrow(((400, 55), (637, 55))),
        Arrow(((315, 90), (315, 132))),
        Arrow(((405, 170), (467, 170))),
        Arrow(((600, 170), (687, 170))),
        Arrow(((225, 170), (163, 170)), is_dashed=True),
    ),
)

LEVELS = Drawing(
    880,
    190,
    "A subject has versions 1, 2 and 3 and a proposed version 4. BACKWARD: version 4 must read what version 3 wrote."
    " FORWARD: version 3 must read what version 4 writes. Transitive levels compare with versions 1 and 2 as well.",
    (
        Box(10, 60, 150, 70, "Version 1"),
        Box(190, 60, 150, 70, "Version 2"),
        Box(370, 60, 150, 70, "Version 3", ("the latest",), "strong"),
        Box(720, 60, 150, 70, "Version 4", ("proposed",), "good"),
    ),
    (
        Arrow(((520, 80), (717, 80)), "BACKWARD: 4 reads 3's records", (530, 70)),
        Arrow(((720, 110), (523, 110)), "FORWARD: 3 reads 4's records", (534, 130)),
        Arrow(
            ((265, 60), (265, 25), (795, 25), (795, 57)),
            "BACKWARD_TRANSITIVE: also what 2 and 1 wrote",
            (400, 18),
            is_dashed=True,
        ),
        Arrow(
            ((795, 130), (795, 165), (265, 165), (265, 133)),
            "FORWARD_TRANSITIVE: 2 and 1 read it, too",
            (415, 183),
            is_dashed=True,
        ),
    ),
)

CONTRACT = Drawing(
    880,
    200,
    "A producer's contract promises the fields of a topic. Two consumers declare which of them they read. A change of a"
    " field that nobody reads breaks nobody; a change of a field that one consumer reads is refused and names that"
    " consumer and the environment in which it is live.",
    (
        Box(10, 65, 210, 80, "Contract of orders", ("id, total, note", "promised by shop"), "strong"),
        Box(330, 15, 220, 75, "billing 4.7.1", ("reads id, note", "live in production")),
        Box(330, 115, 220, 75, "audit 1.2.0", ("reads id", "live in production")),
        Box(640, 15, 230, 75, "note is removed", ("no: billing 4.7.1 reads it",), "bad"),
        Box(640, 115, 230, 75, "total is removed", ("yes: nobody reads it",), "good"),
    ),
    (
        Arrow(((220, 90), (327, 55))),
        Arrow(((220, 120), (327, 152))),
        Arrow(((550, 52), (637, 52)), "breaks", (572, 44)),
        Arrow(((550, 152), (637, 152)), is_dashed=True),
    ),
)

ROOMS = Drawing(
    880,
    330,
    "Six rooms. The registry imports contracts, pages and schema, the converter imports the SDK, pages and schema,"
    " contracts imports the SDK, pages and schema, the SDK and pages import schema. Schema imports none of them.",
    (
        Box(
            10, 60, 215, 90, "registry", ("HTTP service, its stores,", "access and audit", "extra: registry"), "strong"
        ),
        Box(
            10,
            185,
            215,
            90,
            "converter",
            ("a bridge as a Spark job:", "run, check, verify", "extra: converter"),
            "strong",
        ),
        Box(290, 60, 170, 90, "contracts", ("check, lint, test, deploy,", "the command line"), "strong"),
        Box(525, 60, 150, 90, "sdk", ("client, serializers,", "adapters"), "strong"),
        Box(725, 60, 145, 90, "schema", ("languages, rules,", "plans, agreements;", "no I/O"), "good"),
        Box(725, 185, 145, 90, "pages", ("HTML from values;", "no I/O"), "good"),
    ),
    (
        Arrow(((797, 185), (797, 153))),
        Arrow(
            ((117, 275), (117, 310), (797, 310), (797, 278)),
            "pages of the registry, of checks and of the converter",
            (250, 302),
        ),
        Arrow(((225, 105), (287, 105))),
        Arrow(((460, 105), (522, 105))),
        Arrow(((675, 105), (722, 105))),
        Arrow(((225, 230), (600, 230), (600, 153)), "records through the serializers", (300, 222)),
        Arrow(((117, 60), (117, 25), (797, 25), (797, 57)), "the server uses schema, and never the client", (300, 18)),
    ),
)

DRAWINGS = {"rooms": ROOMS, "road": ROAD, "parts": PARTS, "bridge": BRIDGE, "levels": LEVELS, "contract": CONTRACT}


def all_drawings() -> dict[str, str]:
    """Return the text of every SVG file, by its name under ``docs/images/``."""
    return {
        f"{name}-{theme}.svg": as_svg(drawing, colours)
        for name, drawing in DRAWINGS.items()
        for theme, colours in THEMES.items()
    }


def as_svg(drawing: Drawing, theme: Theme) -> str:
    """Return a drawing as the text of an SVG file."""
    about = escape(drawing.about)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width} {drawing.height}"'
        f' width="{drawing.width}" height="{drawing.height}" role="img" aria-label="{about}" style="{_FONT}">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{theme.line}"/></marker></defs>'
    )
    parts = [f"<title>{about}</title>", marker]
    parts += [line for box in drawing.boxes for line in _box(box, theme)]
    parts += [line for arrow in drawing.arrows for line in _arrow(arrow, theme)]
    return "\n".join([head, *parts, "</svg>"])


def _box(box: Box, theme: Theme) -> Iterable[str]:
    middle = box.x + box.width // 2
    first = box.y + box.height // 2 + 5 - 9 * len(box.lines)
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8"'
        f' fill="{getattr(theme, box.colour)}" stroke="{theme.line}"/>'
    )
    yield _text(middle, first, box.title, theme.text, 'font-size="15" font-weight="600" text-anchor="middle"')
    for number, line in enumerate(box.lines, 1):
        yield _text(middle, first + 18 * number, line, theme.quiet, 'font-size="12.5" text-anchor="middle"')


def _arrow(arrow: Arrow, theme: Theme) -> Iterable[str]:
    points = " ".join(f"{x},{y}" for x, y in arrow.points)
    dashes = ' stroke-dasharray="5 4"' if arrow.is_dashed else ""
    yield (
        f'<polyline points="{points}" fill="none" stroke="{theme.line}" stroke-width="1.5"{dashes}'
        ' marker-end="url(#head)"/>'
    )
    if arrow.label:
        yield _text(*arrow.label_at, arrow.label, theme.quiet, 'font-size="12"')


def _text(x: int, y: int, text: str, colour: str, more: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" {more}>{escape(text)}</text>'
