"""``Registry``: the client for programs without an event loop."""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from counterfoil.sdk.calls import Calls
from counterfoil.sdk.registry_client import RegistryClient
from counterfoil.sdk.script import run, with_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from counterfoil.sdk.auth import Auth
    from counterfoil.sdk.connection.pauses import Clock
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.settings import RegistrySettings
    from counterfoil.sdk.transport import Transport

P = ParamSpec("P")
T = TypeVar("T")


def method_of(script: Callable[Concatenate[Calls, P], Script[T]]) -> Callable[Concatenate[Registry, P], T]:
    """Return a method that runs the script in this thread, with the script's parameters and docstring."""

    @wraps(script)
    def method(self: Registry, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(script(self.calls, *args, **kwargs))

    method.__wrapped__ = with_result(script)  # what inspect and help() read
    return method


class Registry(RegistryClient):
    """A client of a schema registry, usable by all threads of a program; a context manager.

    ``url`` is one URL, several joined by commas or in a list (tried in order), or whole ``RegistrySettings``. ``auth``
    is ``BasicAuth``, ``BearerToken``, ``TokenFile``, ``ClientCredentials``, a pair (user, password), a token, or a
    function that returns one; a user and password in the URL are used as well. Time-outs are on (2 s to connect, 10 s
    of silence, or ``timeout_s``), as are retries (3, or ``retries``). Ids and registrations are cached, so that a
    program requests each of them once.

    A copy that is pickled has connections and caches of its own.

    ``transport`` replaces HTTP, for example by a registry in memory; ``clock`` and ``sleep`` are for tests. Raises
    ``InvalidSettings``. No request is sent before the first call.
    """

    def __init__(
        self,
        url: str | Sequence[str] | RegistrySettings,
        *,
        auth: Auth | tuple[str, str] | str | None = None,
        timeout_s: float | None = None,
        retries: int | None = None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        from counterfoil.sdk.connection.http import HttpTransport
        from counterfoil.sdk.settings import RegistrySettings

        self.settings = RegistrySettings.of(url, auth=auth, timeout_s=timeout_s, retries=retries)
        self.calls = Calls(self.settings, clock)
        self._transport = HttpTransport(self.settings) if transport is None else transport
        self._sleep = sleep

    call = method_of(Calls.call)
    call_all = method_of(Calls.call_all)
    schema_by_id = method_of(Calls.schema_by_id)
    schema_by_guid = method_of(Calls.schema_by_guid)
    schema_text_by_id = method_of(Calls.schema_text_by_id)
    subjects_of_id = method_of(Calls.subjects_of_id)
    versions_of_id = method_of(Calls.versions_of_id)
    ids_of_guid = method_of(Calls.ids_of_guid)
    register = method_of(Calls.register)
    lookup = method_of(Calls.lookup)
    version = method_of(Calls.version)
    version_with_metadata = method_of(Calls.version_with_metadata)
    associated_subjects = method_of(Calls.associated_subjects)
    schema_text = method_of(Calls.schema_text)
    subjects = method_of(Calls.subjects)
    versions = method_of(Calls.versions)
    referenced_by = method_of(Calls.referenced_by)
    delete_subject = method_of(Calls.delete_subject)
    delete_version = method_of(Calls.delete_version)
    check_compatibility = method_of(Calls.check_compatibility)
    config = method_of(Calls.config)
    set_config = method_of(Calls.set_config)
    delete_config = method_of(Calls.delete_config)
    mode = method_of(Calls.mode)
    set_mode = method_of(Calls.set_mode)
    delete_mode = method_of(Calls.delete_mode)
    ping = method_of(Calls.ping)
    schema_types = method_of(Calls.schema_types)
    contexts = method_of(Calls.contexts)
    delete_context = method_of(Calls.delete_context)

    def run(self, script: Script[T]) -> T:
        """Return the result of a script of :attr:`calls`, or of one that is made of them."""
        return run(script, self._transport, self._sleep)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
