"""The routes about the server itself."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from counterfoil.registry.api import server
from counterfoil.registry.api.routes.route import ConfluentRoute

_route = partial(ConfluentRoute, tag="server", reads_store=False, errors=())

SERVER_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    _route("GET", "/", server.get_root, result=dict[str, str]),
    _route("POST", "/", server.post_root, result=dict[str, str]),
    _route("GET", "/v1/metadata/id", server.get_cluster_id, result=dict[str, Any]),
    _route("GET", "/v1/metadata/version", server.get_server_version, result=dict[str, str]),
    _route("GET", "/v1/metadata/deployment", server.get_deployment, result=dict[str, Any]),
)
