"""The style: contrasts that are computed from it, its size, and what scripts and templates must not have."""

from __future__ import annotations

import gzip
import re
from importlib import resources
from typing import Final

import pytest

from counterfoil.pages.static import assets, style_sheet

TEMPLATES: Final = resources.files("counterfoil.pages").joinpath("templates")
STATIC: Final = resources.files("counterfoil.pages").joinpath("static")
TOKEN: Final = re.compile(r"--([a-z-]+): (#[0-9a-f]{6});")
LIGHT, DARK = 0, 2
"""The rules of tokens.css that have the colours: light, dark by the system, dark by choice."""
TEXT: Final = 4.5
SHAPE: Final = 3.0
PAIRS: Final = [
    *[(text, ground, TEXT) for text in ("text", "quiet", "link") for ground in ("ground", "panel")],
    *[("border", ground, SHAPE) for ground in ("ground", "panel")],
    *[("text", f"{change}-{part}", 7.0) for change in ("added", "removed") for part in ("row", "word")],
    *[(change, f"{change}-row", TEXT) for change in ("added", "removed")],
    *[(verdict, f"{verdict}-ground", TEXT) for verdict in ("yes", "no", "unsure")],
    *[("text", f"{verdict}-ground", TEXT) for verdict in ("no", "unsure")],
    *[(f"c-{kind}", "panel", TEXT) for kind in ("name", "text", "number", "word", "comment")],
    ("ground", "link", TEXT),
]


def tokens() -> list[dict[str, str]]:
    """The colours of each rule of the style's first file that has any, in its order."""
    text = STATIC.joinpath("tokens.css").read_text("utf-8")
    found = [dict(TOKEN.findall(rule)) for rule in text.split("{")]
    return [each for each in found if "ground" in each]


def luminance(colour: str) -> float:
    """The relative luminance of a colour: WCAG 2.2, "relative luminance"."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground", "least"), PAIRS)
def test_texts_and_shapes_can_be_read(theme: int, text: str, ground: str, least: float):
    colours = tokens()[theme]
    assert contrast(colours[text], colours[ground]) >= least


def test_both_dark_themes_have_the_same_colours():
    light, by_system, by_choice = tokens()
    assert by_system == by_choice
    assert light.keys() == by_choice.keys()


def test_every_colour_of_the_style_is_a_token():
    for name in ("base.css", "parts.css"):
        assert not re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)|rgba?\(", STATIC.joinpath(name).read_text("utf-8"))


def test_what_the_style_names_is_defined():
    css = style_sheet()
    assert set(re.findall(r"var\(--([a-z-]+)", css)) <= set(re.findall(r"--([a-z-]+):", css))


def test_every_class_of_a_template_is_in_the_style():
    used = {
        name
        for text in templates().values()
        for value in re.findall(r'class="([^"{}]+)"', text)
        for name in value.split()
    }
    styled = set(re.findall(r"\.([a-z][a-z0-9-]*)", style_sheet()))
    assert used - styled - {"changes", "bytes"} == set()


def test_style_and_scripts_are_small():
    files = assets().files
    assert len(gzip.compress(files["style.css"].body)) <= 12_000
    scripts = [each for each in files.values() if each.name.endswith(".js")]
    assert len(scripts) <= 10
    assert len(gzip.compress(b"".join(each.body for each in scripts))) <= 10_000
    assert {each.name: n for each in scripts if (n := each.body.count(b"\n")) >= 150} == {}


def test_the_style_serves_every_screen():
    css = style_sheet()
    for feature in ("forced-colors: active", "prefers-reduced-motion", "prefers-contrast: more", "print", "max-width"):
        assert f"{feature}" in css
    assert "@import" not in css
    assert "url(" not in css


def test_scripts_make_no_html_and_are_typed():
    for each in assets().files.values():
        if each.name.endswith(".js"):
            text = each.body.decode()
            assert text.startswith("// @ts-check\n"), each.name
            sinks = (
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|srcdoc|DOMParser|\.on[a-z]+ ="
            )
            assert not re.search(sinks, text), each.name
            assert not re.search(r"https?://", text), each.name


def test_scripts_that_pages_name_are_there():
    named = {name for text in templates().values() for name in re.findall(r"[\"']([a-z]+\.(?:js|css|svg))[\"']", text)}
    assert named == assets().files.keys()


def templates() -> dict[str, str]:
    folders = [TEMPLATES]
    found = {}
    while folders:
        for each in folders.pop().iterdir():
            if each.is_dir():
                folders.append(each)
            else:
                found[str(each)] = each.read_text("utf-8")
    return found


def test_templates_leave_nothing_unescaped_and_name_nothing_foreign():
    for name, text in templates().items():
        assert not re.search(r"\|\s*safe\b|autoescape|Markup|\bstyle=|\son[a-z]+=|//[a-z]+\.|javascript:", text), name
        assert not re.search(r"https?://(?!old-registry:8081)", text), name


def test_one_module_makes_markup():
    folder = resources.files("counterfoil.pages")
    modules = [each for each in folder.iterdir() if each.name.endswith(".py")]
    makers = {each.name for each in modules if "markupsafe" in each.read_text("utf-8")}
    assert makers == {"markup.py"}


def test_another_file_is_another_hash_and_the_same_files_the_same():
    assert re.fullmatch("[0-9a-f]{16}", assets().hash)
    assert assets() is assets()
    assert assets().files["theme.js"].media_type == "text/javascript; charset=utf-8"
