"""``counterfoil serve``: run the registry. Light to import; the server is loaded when the command runs."""

from __future__ import annotations

import click

from counterfoil.registry.settings import (
    DEFAULT_HOST,
    DEFAULT_KMS_TIMEOUT_S,
    DEFAULT_MAX_BODY_BYTES,
    DEFAULT_MAX_KEYS,
    DEFAULT_MAX_WAITING_WRITES,
    DEFAULT_PORT,
    DEFAULT_STORE,
    DEFAULT_WRITE_TIMEOUT_S,
    ServerSettings,
)


@click.command(context_settings={"auto_envvar_prefix": "COUNTERFOIL"})
@click.option(
    "--host", default=DEFAULT_HOST, show_default=True, envvar="COUNTERFOIL_HOST", help="Address to listen on."
)
@click.option(
    "--port",
    default=DEFAULT_PORT,
    show_default=True,
    envvar="COUNTERFOIL_PORT",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 lets the system choose.",
)
@click.option(
    "--store",
    default=DEFAULT_STORE,
    show_default=True,
    envvar="COUNTERFOIL_STORE",
    help="sqlite:///relative.db, sqlite:////absolute.db, sqlite:// for memory, or postgresql://user@host/database.",
)
@click.option(
    "--max-body-bytes",
    default=DEFAULT_MAX_BODY_BYTES,
    show_default=True,
    envvar="COUNTERFOIL_MAX_BODY_BYTES",
    type=click.IntRange(min=1),
    help="The largest request body that is taken.",
)
@click.option(
    "--log-requests",
    is_flag=True,
    envvar="COUNTERFOIL_LOG_REQUESTS",
    help="Write one log line a request.",
)
@click.option(
    "--fast-lane/--no-fast-lane",
    default=True,
    show_default=True,
    envvar="COUNTERFOIL_FAST_LANE",
    help="Answer from memory, ahead of routing, what is asked most.",
)
@click.option(
    "--max-keys",
    default=DEFAULT_MAX_KEYS,
    show_default=True,
    envvar="COUNTERFOIL_MAX_KEYS",
    type=click.IntRange(min=0),
    help="How many keys the DEK registry takes.",
)
@click.option(
    "--kms-timeout-s",
    default=DEFAULT_KMS_TIMEOUT_S,
    show_default=True,
    envvar="COUNTERFOIL_KMS_TIMEOUT_S",
    type=click.FloatRange(min=0, min_open=True),
    help="How many seconds a key management service may take.",
)
@click.option(
    "--max-waiting-writes",
    default=DEFAULT_MAX_WAITING_WRITES,
    show_default=True,
    envvar="COUNTERFOIL_MAX_WAITING_WRITES",
    type=click.IntRange(min=1),
    help="Writes that may wait for the store; further ones are refused with 503.",
)
@click.option(
    "--write-timeout-s",
    default=DEFAULT_WRITE_TIMEOUT_S,
    show_default=True,
    envvar="COUNTERFOIL_WRITE_TIMEOUT_S",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that a write may wait for the store and take; then it is answered with 503.",
)
def serve(
    *,
    host: str,
    port: int,
    store: str,
    max_body_bytes: int,
    log_requests: bool,
    fast_lane: bool,
    max_keys: int,
    kms_timeout_s: float,
    max_waiting_writes: int,
    write_timeout_s: float,
) -> int:
    """Run the schema registry until SIGTERM or SIGINT.

    Prints one line with the address once requests are taken.
    """
    try:
        from counterfoil.registry.server import run
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"the registry needs the package {missing.name}; install it with: pip install 'counterfoil[registry]'"
        ) from None
    return run(
        ServerSettings(
            host=host,
            port=port,
            store=store,
            max_body_bytes=max_body_bytes,
            log_requests=log_requests,
            fast_lane=fast_lane,
            max_keys=max_keys,
            kms_timeout_s=kms_timeout_s,
            max_waiting_writes=max_waiting_writes,
            write_timeout_s=write_timeout_s,
        )
    )
