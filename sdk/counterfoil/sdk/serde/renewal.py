"""Plans that are made of a subject's latest version, and are made again after a time, without letting messages wait.

When four fifths of the time are over, the plan is resolved in the background, and the known plan stays in use
meanwhile, also when its time ends before the registry has answered. A plan that is found expired when nobody is
resolving it, since no message came for a while, is resolved at once. While the registry cannot be reached, the known
plan stays in use.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from counterfoil.schema.errors import CounterfoilError
from counterfoil.sdk.errors import RegistryUnavailable
from counterfoil.sdk.serde.plans import K, Plan, PlanTable

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.sources import Source

V = TypeVar("V", bound=Plan)
V_co = TypeVar("V_co", bound=Plan, covariant=True)


class Build(Protocol[V_co]):
    """The script that makes a plan."""

    def __call__(self, *, refresh: bool) -> Script[V_co]:
        """Return the plan; with ``refresh`` versions and associations are requested even if they are cached."""


_DUE: Final = 0.8
_PATIENCE_S: Final = 1.0
"""How long a message waits at most for a renewal that has just begun, when its plan has expired."""


class _Renewal:
    """One run of a plan's script while the known plan is in use."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._patient_until_s = time.monotonic() + _PATIENCE_S

    def end(self) -> None:
        """Let those continue that wait."""
        self._done.set()

    def wait(self) -> None:
        """Wait for the end, but not longer than ``_PATIENCE_S`` after the beginning."""
        self._done.wait(max(0.0, self._patient_until_s - time.monotonic()))


class Planner(PlanTable[K, V]):
    """The plans of one serializer by key, resolved with its registry; ``ttl_s`` None: they never change."""

    def __init__(self, source: Source, *, ttl_s: float | None, clock: Callable[[], float]) -> None:
        super().__init__()
        self._source = source
        self._ttl_s = ttl_s
        self._clock = clock
        self._tasks: set[asyncio.Task[Any]] = set()

    def make_locks(self) -> None:
        """Make the locks; no plan is being renewed, as far as this process is concerned."""
        super().make_locks()
        self._renewals: dict[K, _Renewal] = {}
        self._starting = threading.Lock()

    def get(self, key: K, build: Build[V]) -> V:
        """Return the plan of the key. Raises the errors of the script."""
        plan = self.found.get(key)
        if plan is None:
            return self.resolve(key, lambda: self._timed(self._source.run(build(refresh=False))))
        if self._ttl_s is None or self._clock() < plan.due_s:
            return plan
        return self._renewed(key, plan, build)

    async def warm(self, key: K, build: Build[V]) -> None:
        """Resolve the plan of the key unless it is known."""
        plan = self.found.get(key)
        if plan is None or self._clock() >= plan.expires_s:
            self.put(key, self._timed(await self._source.arun(build(refresh=plan is not None))))

    def _timed(self, plan: V) -> V:
        if self._ttl_s is None:
            return plan
        now_s = self._clock()
        return replace(plan, due_s=now_s + _DUE * self._ttl_s, expires_s=now_s + self._ttl_s)

    def _renewed(self, key: K, plan: V, build: Build[V]) -> V:
        """Return the plan to use now: the known one, or after its time a new one."""
        is_expired = self._clock() >= plan.expires_s
        with self._starting:
            renewal = self._renewals.get(key)
            is_first = renewal is None
            if renewal is None:
                renewal = self._renewals[key] = _Renewal()
        if not is_first:
            if is_expired and not self._source.is_async:
                renewal.wait()
        elif self._source.is_async:
            self._begin_task(key, plan, build, renewal)
        elif is_expired:
            self._renew(key, plan, build, renewal)
        else:
            threading.Thread(target=self._renew_quietly, args=(key, plan, build, renewal), daemon=True).start()
        return self.found.get(key, plan)

    def _renew(self, key: K, plan: V, build: Build[V], renewal: _Renewal) -> None:
        try:
            self.put(key, self._timed(self._source.run(build(refresh=True))))
        except RegistryUnavailable:
            self.put(key, self._timed(plan))
        finally:
            self._end(key, renewal)

    def _renew_quietly(self, key: K, plan: V, build: Build[V], renewal: _Renewal) -> None:
        """Renew in the background. An error is raised by the message that finds the plan expired."""
        try:
            self._renew(key, plan, build, renewal)
        except CounterfoilError:
            self.put(key, replace(plan, due_s=plan.expires_s))

    def _begin_task(self, key: K, plan: V, build: Build[V], renewal: _Renewal) -> None:
        """Renew in a task of the running event loop; outside of one, the known plan stays in use."""
        import asyncio

        script = self._arenew(key, plan, build, renewal)
        try:
            task = asyncio.get_running_loop().create_task(script)
        except RuntimeError:
            script.close()
            self._end(key, renewal)
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _arenew(self, key: K, plan: V, build: Build[V], renewal: _Renewal) -> None:
        try:
            self.put(key, self._timed(await self._source.arun(build(refresh=True))))
        except CounterfoilError:
            self.put(key, self._timed(plan))
        finally:
            self._end(key, renewal)

    def _end(self, key: K, renewal: _Renewal) -> None:
        with self._starting:
            self._renewals.pop(key, None)
        renewal.end()
