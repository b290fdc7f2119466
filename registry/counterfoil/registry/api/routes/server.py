"""The routes about the server itself."""

from __future__ import annotations

from functools import partial
from typing import Final

from counterfoil.registry.api import server
from counterfoil.registry.api.openapi.shapes import ANY_OBJECT
from counterfoil.registry.api.routes.access import MEMBER
from counterfoil.registry.api.routes.route import ConfluentRoute
from counterfoil.schema.rest.object_forms import TEXT_BY_KEY

_route = partial(ConfluentRoute, access=MEMBER, tag="server", reads_store=False, errors=())

SERVER_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route("GET", "/", server.get_root, result=TEXT_BY_KEY),
    _route("POST", "/", server.post_root, result=TEXT_BY_KEY),
    _route("GET", "/v1/metadata/id", server.get_cluster_id, result=ANY_OBJECT),
    _route("GET", "/v1/metadata/version", server.get_server_version, result=TEXT_BY_KEY),
    _route("GET", "/v1/metadata/deployment", server.get_deployment, result=ANY_OBJECT),
)
