"""The routes that answer for the server itself."""

from __future__ import annotations

from typing import Any, Final

from counterfoil.registry.api import server
from counterfoil.registry.api.routes.route import ConfluentRoute

SERVER_ROUTES: Final[tuple[ConfluentRoute, ...]] = (
    ConfluentRoute("GET", "/", server.get_root, tag="server", result=dict[str, str], reads_store=False, errors=()),
    ConfluentRoute("POST", "/", server.post_root, tag="server", result=dict[str, str], reads_store=False, errors=()),
    ConfluentRoute(
        "GET",
        "/v1/metadata/id",
        server.get_cluster_id,
        tag="server",
        result=dict[str, Any],
        reads_store=False,
        errors=(),
    ),
    ConfluentRoute(
        "GET",
        "/v1/metadata/version",
        server.get_server_version,
        tag="server",
        result=dict[str, str],
        reads_store=False,
        errors=(),
    ),
    ConfluentRoute(
        "GET",
        "/v1/metadata/deployment",
        server.get_deployment,
        tag="server",
        result=dict[str, Any],
        reads_store=False,
        errors=(),
    ),
)
