"""The route ``/inspect/v1/search``, and its endpoint."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.http.access import FOUND, CallerOfRequest, CasesOfRequest
from counterfoil.registry.http.route import ValidatedRoute
from counterfoil.registry.search.questions import DEFAULT_LIMIT, MAX_LIMIT, SearchExtent, SearchQuestion
from counterfoil.schema.rest.search_index import SEARCH_RESULT, HitKind

Text = Annotated[
    str,
    Query(
        description="Words that all have to match; case and `_-.` are ignored. With `subject:`, `field:`, `type:`, "
        "`doc:`, `tag:`, `prop:`, `symbol:` or `topic:` before it a word is compared with that alone; `lang:` and "
        "`is:deleted` limit the hits."
    ),
]
Kind = Annotated[HitKind | None, Query(description="The kind of the hits. Default: all.")]
Context = Annotated[str | None, Query(description="The context of the subjects. Default: all.")]
Extent = Annotated[
    SearchExtent, Query(alias="in", description="Whether earlier versions are searched, too. Default: latest.")
]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The most hits of a page.")]
After = Annotated[str, Query(description="The `next` of the page before.")]

Counts = Annotated[bool, Query(description="Whether hits are counted. Without it, suggestions are found sooner.")]


async def search(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    *,
    q: Text = "",
    kind: Kind = None,
    context: Context = None,
    within: Extent = SearchExtent.LATEST,
    limit: Limit = DEFAULT_LIMIT,
    after: After = "",
    counts: Counts = True,
) -> object:
    """Search names, types, documentation, tags and properties of all versions that the caller may read."""
    question = SearchQuestion(q, kind, context, within, limit, after, counts)
    return SEARCH_RESULT.write(await cases.search.search(question, visible=caller.visible(AccessOperation.READ)))


SEARCH_ROUTES: Final[tuple[ValidatedRoute, ...]] = (
    ValidatedRoute(
        "GET",
        "/inspect/v1/search",
        search,
        access=FOUND,
        tag="inspection",
        has_tag=True,
        result=SEARCH_RESULT,
        errors=(),
    ),
)
