"""A sketch as a registry stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import UnusableSketch
from counterfoil.schema.sketch.document import InvalidSketch, sketch_document, sketch_of

if TYPE_CHECKING:
    from counterfoil.schema.rest.object_forms import Document


def stored_sketch(name: str, document: Document) -> Document:
    """Return the document of a sketch of the subject ``name`` as it is stored: only with members that a sketch has.

    Raises ``UnusableSketch`` for a document that is none of this subject.
    """
    try:
        sketch = sketch_of(document)
    except InvalidSketch as invalid:
        raise UnusableSketch(str(invalid)) from None
    if name not in {sketch.key_subject, sketch.value_subject}:
        raise UnusableSketch(
            f"The sketch is of the subjects {sketch.key_subject!r} and {sketch.value_subject!r}; expected {name!r}"
        )
    return sketch_document(sketch)
