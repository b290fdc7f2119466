"""The methods that a path has: for OPTIONS, and for the ``Allow`` header of a 405 (RFC 9110, 9.3.7 and 10.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import Route

_NO_CONTENT: Final = 204
_ANY_PATH: Final = "*"


class Methods:
    """The methods of each path that ``routes`` serve."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    def allowed(self, path: str) -> str:
        """Return the methods of ``path`` as ``Allow`` lists them; an empty text if there is no such path."""
        found = {
            method
            for route in self._routes
            if path == _ANY_PATH or route.path_regex.match(path)
            for method in route.methods or ()
        }
        if "GET" in found:
            found.add("HEAD")
        return ", ".join(sorted({*found, "OPTIONS"})) if found else ""

    def options(self, path: str) -> Response | None:
        """Return the response to OPTIONS; None if there is no such path."""
        allowed = self.allowed(path)
        return Response(status_code=_NO_CONTENT, headers={"allow": allowed}) if allowed else None
