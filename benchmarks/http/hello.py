"""A bare ASGI application with the settings of the registry's server: ``hello.py PORT FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn


def hello(answer):
    """Return the smallest ASGI application: it sends the same bytes for any request."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def application(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return application


def main():
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    uvicorn.run(
        hello(file.read_bytes()),
        port=port,
        http="httptools",
        loop="uvloop",
        access_log=False,
        log_level="error",
        lifespan="off",
        server_header=False,
    )


if __name__ == "__main__":
    main()
