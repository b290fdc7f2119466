"""Sketches of subjects, of this project's registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_texts
from counterfoil.sdk.operations.operation import Operation, ReplyForm
from counterfoil.sdk.operations.requests import json_body, read_nothing, read_object, url_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

_SKETCHES: Final = ("sketches", "v1", "subjects")


def sketched_subjects() -> Operation[tuple[str, ...]]:
    """``GET /sketches/v1/subjects``, of this project's registry: the subjects that have a sketch."""
    return Operation("sketched_subjects", "GET", url_path(*_SKETCHES), read_texts)


def sketch(subject: str) -> Operation[dict[str, Any]]:
    """``GET /sketches/v1/subjects/{subject}``: the document of a sketch."""
    return Operation("sketch", "GET", url_path(*_SKETCHES, subject), read_object)


def put_sketch(subject: str, document: Mapping[str, Any]) -> Operation[None]:
    """``PUT /sketches/v1/subjects/{subject}``: repeatable, since it replaces the sketch."""
    path, body = url_path(*_SKETCHES, subject), json_body(document)
    return Operation("put_sketch", "PUT", path, read_nothing, body=body, form=ReplyForm.NOTHING)
