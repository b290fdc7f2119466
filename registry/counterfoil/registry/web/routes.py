"""The pages as one table: path, builder, needs, JSON twin; and the redirect from the root for browsers."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import Scope

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.http.access import FOUND, MEMBER, on
from counterfoil.registry.http.answers import accepts
from counterfoil.registry.http.envelope import ROUTE_HOLDER, UI
from counterfoil.registry.web.answers import see_other
from counterfoil.registry.web.endpoint import PageRoute, site_of_app, the_subject_of_the_page
from counterfoil.registry.web.forms import (
    build_compare,
    build_decode,
    build_decoded,
    build_refusal,
    build_tried,
    build_try,
)
from counterfoil.registry.web.lookups import (
    build_changes,
    build_element,
    build_guid,
    build_help,
    build_home,
    build_id,
    build_named,
    build_references,
    build_refusals,
    build_registry,
    build_rule,
    build_rules,
    build_search,
    build_subject,
    build_subjects,
    build_version,
)
from counterfoil.registry.web.static_files import StaticRoute
from counterfoil.registry.web.topics import build_topic

_SUBJECT: Final = f"{UI}/subjects/{{subject}}"
_TWIN: Final = "/inspect/v1"

_found = partial(PageRoute, "GET", access=FOUND)
_for_members = partial(PageRoute, "GET", access=MEMBER, is_of_journal=True)
_of_subject = partial(PageRoute, "GET", access=on(AccessOperation.READ, the_subject_of_the_page), is_dated=True)
_sent = partial(PageRoute, "POST", access=FOUND)

PAGE_ROUTES: Final[tuple[PageRoute, ...]] = (
    _found(UI, build_home, twin=f"GET {_TWIN}", is_dated=True),
    _found(f"{UI}/search", build_search, twin=f"GET {_TWIN}/search"),
    _found(f"{UI}/subjects", build_subjects, twin=f"GET {_TWIN}/subjects", is_dated=True, is_of_journal=True),
    _of_subject(f"{UI}/subject", build_named, twin=f"GET {_TWIN}/subjects/{{subject}}"),
    _of_subject(_SUBJECT, build_subject, twin=f"GET {_TWIN}/subjects/{{subject}}"),
    _of_subject(f"{_SUBJECT}/elements", build_element, twin=f"GET {_TWIN}/subjects/{{subject}}/elements"),
    _of_subject(
        f"{_SUBJECT}/versions/{{version}}",
        build_version,
        twin=f"GET {_TWIN}/subjects/{{subject}}/versions/{{version}}",
        is_of_journal=True,
    ),
    _of_subject(
        f"{_SUBJECT}/versions/{{version}}/references",
        build_references,
        twin=f"GET {_TWIN}/references/{{subject}}/{{version}}",
        is_of_journal=True,
    ),
    _found(f"{UI}/ids/{{id}}", build_id, twin=f"GET {_TWIN}/ids/{{id}}", is_of_journal=True),
    _found(f"{UI}/guids/{{guid}}", build_guid, twin=f"GET {_TWIN}/guids/{{guid}}", is_of_journal=True),
    _found(f"{UI}/topic", build_topic, twin="GET /contracts/v1/topics/{topic}/stats", is_dated=True),
    _found(f"{UI}/topics/{{topic}}", build_topic, twin="GET /contracts/v1/topics/{topic}/stats", is_dated=True),
    _found(f"{UI}/compare", build_compare, twin=f"GET {_TWIN}/diff", is_dated=True),
    _found(f"{UI}/try", build_try, twin=f"POST {_TWIN}/verdict", is_dated=True),
    _sent(f"{UI}/try", build_tried, twin=f"POST {_TWIN}/verdict", is_dated=True),
    _found(f"{UI}/decode", build_decode, twin=f"POST {_TWIN}/decode"),
    _sent(f"{UI}/decode", build_decoded, twin=f"POST {_TWIN}/decode"),
    _found(f"{UI}/refusals", build_refusals, twin=f"GET {_TWIN}/refusals"),
    _found(f"{UI}/refusals/{{request_id}}", build_refusal, twin=f"GET {_TWIN}/refusals/{{request_id}}"),
    _found(f"{UI}/changes", build_changes, twin="GET /changes", is_dated=True, is_of_journal=True),
    _for_members(f"{UI}/rules", build_rules, twin=f"GET {_TWIN}/rules"),
    _for_members(f"{UI}/rules/{{rule}}", build_rule, twin=f"GET {_TWIN}/rules/{{rule}}"),
    _for_members(f"{UI}/help", build_help),
    _found(f"{UI}/admin/index", build_registry, twin=f"GET {_TWIN}"),
)
"""All pages, in the order in which they are tried."""

STATIC_ROUTE: Final = StaticRoute()
"""The route of all static files."""


class BrowserRoute(StarletteRoute):
    """``GET /`` for requests that name HTML among the media types they accept; another route answers all others.

    It shows nothing: whoever is let in is led to the pages, which have needs of their own.
    """

    def __init__(self) -> None:
        super().__init__("/", _lead_to_pages, methods=["GET"])

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether this route answers the request, and its scope."""
        if scope["path"] != "/" or scope["method"] != "GET" or not _names_html(scope):
            return Match.NONE, {}
        return super().matches(scope)


async def _lead_to_pages(request: Request) -> Response:
    """Return the response that leads a browser to the pages."""
    request.scope[ROUTE_HOLDER][0] = "/ (browsers)"
    return see_other(site_of_app(request.scope).links.home())


def _names_html(scope: Scope) -> bool:
    accept = b",".join([value for name, value in scope["headers"] if name == b"accept"])
    return accepts(accept.decode("latin-1"), "text/html")


BROWSER_ROUTE: Final = BrowserRoute()
"""The redirect from the root, which is tried before the route of the API."""
