"""What the audit says of the subjects that a record is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.contexts import QualifiedSubject


def facts_about(subjects: Iterable[QualifiedSubject]) -> dict[str, str]:
    """Return the subject, if it is one, and its context, if all are in the same.

    Whoever may read the audit of a context alone sees what has this context.
    """
    known = set(subjects)
    contexts = {each.context for each in known}
    facts = {"context": contexts.pop()} if len(contexts) == 1 else {}
    return {**facts, "subject": str(known.pop())} if len(known) == 1 else facts
