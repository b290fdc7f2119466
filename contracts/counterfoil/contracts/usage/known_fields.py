"""Whether a path is one of a subject's fields, so that a typing error does not read as a field that nobody reads."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.registry import read_version
from counterfoil.contracts.errors import NotKnown
from counterfoil.contracts.generating.fields import paths_of
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.paths import PathNotFound, print_path, resolve_path
from counterfoil.schema.paths.model import StepKind
from counterfoil.schema.rest.usage import WHOLE_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath
    from counterfoil.sdk.client import Registry

_NEAREST: Final = 3


def require_field(registry: Registry, subject: str, path: FieldPath, *, read: Iterable[str]) -> None:
    """Raise ``NotKnown`` with the nearest names unless a version of the subject has the field.

    ``read`` are the paths that are read: one of them need not be in a schema. A field of the key is one of the subject
    of the topic's keys; a header has no schema.
    """
    text = print_path(path)
    known = [each for each in read if each != WHOLE_RECORD]
    if not path or text in known:
        return
    if path[0].kind is StepKind.HEADER:
        raise NotKnown(f"Headers have no schema, and nobody is known to read {text} of {subject}{_alike(text, known)}")
    of_key = path[0].kind is StepKind.KEY
    asked = f"{subject.removesuffix('-value')}-key" if of_key else subject
    prefix = "$key." if of_key else ""
    problem = ""
    for schema in _schemas(registry, asked):
        try:
            resolve_path(schema, path)
        except PathNotFound as missing:
            problem = problem or str(missing)
            known += [f"{prefix}{each}" for each in paths_of(schema) if each != WHOLE_RECORD]
        else:
            return
    detail = f": {problem}" if problem else ", since it has no version that can be read"
    raise NotKnown(f"No version of {asked} has the field {text}{detail}{_alike(text, known)}")


def _schemas(registry: Registry, subject: str) -> Iterator[ParsedSchema]:
    """Yield the schemas of a subject, the newest first."""
    try:
        versions = registry.versions(subject)
    except SubjectNotFound:
        return
    for version in sorted(versions, reverse=True):
        schema = read_version(registry, subject, version).schema
        if schema is not None:
            yield schema


def _alike(text: str, known: Iterable[str]) -> str:
    """Return the end of a sentence with the nearest of the known names; empty if none is near."""
    names = dict.fromkeys(known)
    near = get_close_matches(text, names, n=_NEAREST)
    ends = {name.rpartition(".")[2] for name in names}
    for end in get_close_matches(text.rpartition(".")[2], ends, n=_NEAREST):
        near += [name for name in names if name.rpartition(".")[2] == end]
    shown = list(dict.fromkeys(near))[:_NEAREST]
    return f"; the nearest are {', '.join(shown)}" if shown else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence with the names that are nearest to one that is unknown; empty if none is near."""
    near = get_close_matches(name, list(known), n=_NEAREST)
    return f"; the nearest are {', '.join(near)}" if near else ""
