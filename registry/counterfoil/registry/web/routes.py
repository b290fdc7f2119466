"""The pages as one table: path, builder, needs, JSON twin; and the redirect from the root for browsers."""

from __future__ import annotations

from functools import partial
from importlib import import_module
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
from counterfoil.registry.web.absent import help_with_absence
from counterfoil.registry.web.answers import see_other
from counterfoil.registry.web.endpoint import (
    Builder,
    BuiltPage,
    Elsewhere,
    PageRequest,
    PageRoute,
    site_of_app,
    the_subject_of_the_page,
)
from counterfoil.registry.web.static_files import StaticRoute

_SUBJECT: Final = f"{UI}/subjects/{{subject}}"
_TWIN: Final = "/inspect/v1"


def _builder(module: str, name: str) -> Builder:
    """Return a builder that is loaded when its page is first requested: the values of pages cost start time."""

    async def build(request: PageRequest) -> BuiltPage | Elsewhere:
        loaded: Builder = getattr(import_module(f"counterfoil.registry.web.{module}"), name)
        return await loaded(request)

    return build


_lookup = partial(_builder, "lookups")
_form = partial(_builder, "forms")
_topic = _builder("topics", "build_topic")
_page = partial(PageRoute, absence=help_with_absence)
_found = partial(_page, "GET", access=FOUND)
_for_members = partial(_page, "GET", access=MEMBER, is_of_journal=True)
_of_subject = partial(_page, "GET", access=on(AccessOperation.READ, the_subject_of_the_page), is_dated=True)
_sent = partial(_page, "POST", access=FOUND)

PAGE_ROUTES: Final[tuple[PageRoute, ...]] = (
    _found(UI, _lookup("build_home"), twin=f"GET {_TWIN}", is_dated=True),
    _found(f"{UI}/search", _lookup("build_search"), twin=f"GET {_TWIN}/search"),
    _found(
        f"{UI}/subjects", _lookup("build_subjects"), twin=f"GET {_TWIN}/subjects", is_dated=True, is_of_journal=True
    ),
    _of_subject(f"{UI}/subject", _lookup("build_named"), twin=f"GET {_TWIN}/subjects/{{subject}}"),
    _of_subject(_SUBJECT, _lookup("build_subject"), twin=f"GET {_TWIN}/subjects/{{subject}}"),
    _of_subject(f"{_SUBJECT}/elements", _lookup("build_element"), twin=f"GET {_TWIN}/subjects/{{subject}}/elements"),
    _of_subject(
        f"{_SUBJECT}/versions/{{version}}",
        _lookup("build_version"),
        twin=f"GET {_TWIN}/subjects/{{subject}}/versions/{{version}}",
        is_of_journal=True,
    ),
    _of_subject(
        f"{_SUBJECT}/versions/{{version}}/references",
        _lookup("build_references"),
        twin=f"GET {_TWIN}/references/{{subject}}/{{version}}",
        is_of_journal=True,
    ),
    _found(f"{UI}/ids/{{id}}", _lookup("build_id"), twin=f"GET {_TWIN}/ids/{{id}}", is_of_journal=True),
    _found(f"{UI}/guids/{{guid}}", _lookup("build_guid"), twin=f"GET {_TWIN}/guids/{{guid}}", is_of_journal=True),
    _found(f"{UI}/topic", _topic, twin="GET /contracts/v1/topics/{topic}/stats", is_dated=True),
    _found(f"{UI}/topics/{{topic}}", _topic, twin="GET /contracts/v1/topics/{topic}/stats", is_dated=True),
    _found(f"{UI}/compare", _form("build_compare"), twin=f"GET {_TWIN}/diff", is_dated=True),
    _found(f"{UI}/try", _form("build_try"), twin=f"POST {_TWIN}/verdict", is_dated=True),
    _sent(f"{UI}/try", _form("build_tried"), twin=f"POST {_TWIN}/verdict", is_dated=True),
    _found(f"{UI}/decode", _form("build_decode"), twin=f"POST {_TWIN}/decode"),
    _sent(f"{UI}/decode", _form("build_decoded"), twin=f"POST {_TWIN}/decode"),
    _found(f"{UI}/refusals", _lookup("build_refusals"), twin=f"GET {_TWIN}/refusals"),
    _found(f"{UI}/refusals/{{request_id}}", _form("build_refusal"), twin=f"GET {_TWIN}/refusals/{{request_id}}"),
    _found(f"{UI}/changes", _lookup("build_changes"), twin="GET /changes", is_dated=True, is_of_journal=True),
    _for_members(f"{UI}/rules", _lookup("build_rules"), twin=f"GET {_TWIN}/rules"),
    _for_members(f"{UI}/rules/{{rule}}", _lookup("build_rule"), twin=f"GET {_TWIN}/rules/{{rule}}"),
    _for_members(f"{UI}/help", _lookup("build_help")),
    _found(f"{UI}/admin/index", _lookup("build_registry"), twin=f"GET {_TWIN}"),
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
    site = site_of_app(request.scope)
    await site.prepare()
    return see_other(site.links.home())


def _names_html(scope: Scope) -> bool:
    accept = b",".join([value for name, value in scope["headers"] if name == b"accept"])
    return accepts(accept.decode("latin-1"), "text/html")


BROWSER_ROUTE: Final = BrowserRoute()
"""The redirect from the root, which is tried before the route of the API."""
