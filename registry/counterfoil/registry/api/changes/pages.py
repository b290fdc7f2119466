"""The change feed, page by page. :mod:`~counterfoil.registry.api.changes.event_stream` sends it as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.registry.api.changes.models import ChangeBody, ChangesBody
from counterfoil.registry.api.changes.parameters import DEFAULT_LIMIT, After, Limit, ScopeSubject, Wanted, position
from counterfoil.registry.api.changes.visible import shows_author
from counterfoil.registry.api.routes.services import CallOfRequest, CasesOfRequest
from counterfoil.registry.service.as_of import EVER
from counterfoil.registry.service.feed import Page, read_page
from counterfoil.registry.service.moments import iso_time
from counterfoil.registry.service.pauses import Pauses

if TYPE_CHECKING:
    from counterfoil.registry.domain.changes import Change


def change_body(change: Change, *, has_author: bool) -> ChangeBody:
    """Return one change as the feed sends it; a field that does not belong to its kind is null, and is not sent.

    With ``has_author`` it names who requested it.
    """
    return ChangeBody(
        seq=change.seq,
        ts=change.ts,
        time=iso_time(change.ts),
        kind=change.kind.value,
        subject=str(change.subject),
        context=change.subject.context,
        version=change.version,
        id=change.schema_id,
        guid=None if change.guid is None else str(change.guid),
        by=change.author if has_author else None,
        document=change.shown,
    )


async def list_changes(
    cases: CasesOfRequest, call: CallOfRequest, wanted: Wanted, after: After = 0, limit: Limit = DEFAULT_LIMIT
) -> ChangesBody:
    """List changes in their order; with ``Accept: text/event-stream`` they are sent as events when they happen."""
    storage = cases.storage
    page = await read_page(storage, await position(storage, after), limit, wanted=call.visible_changes(wanted))
    return await _body(page, call)


async def list_changes_of_subject(
    cases: CasesOfRequest,
    call: CallOfRequest,
    subject: ScopeSubject,
    wanted: Wanted,
    *,
    after: After = 0,
    limit: Limit = DEFAULT_LIMIT,
) -> ChangesBody:
    """List the changes of one subject, or of the settings of one context."""
    seq = await position(cases.storage, after)
    wanted = call.visible_changes(wanted)
    changes = await cases.storage.changes_of(subject, EVER)
    found = [change for change in changes if change.seq > seq and wanted.wants(change)]
    page = tuple(found[:limit])
    return await _body(Page(page, page[-1].seq if page else seq, has_more=len(found) > limit), call)


async def _body(page: Page, call: CallOfRequest) -> ChangesBody:
    changes: list[ChangeBody] = []
    pauses = Pauses()
    for each in page.changes:
        await pauses.pause_if_due()
        changes.append(change_body(each, has_author=shows_author(each, call.caller)))
    return ChangesBody(changes=changes, next=page.next, more=page.has_more)
