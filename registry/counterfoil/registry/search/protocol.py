"""What an index is made over: a database with transactions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from counterfoil.registry.search.dialects import IndexDialect


class IndexUnusable(Exception):
    """The index cannot be read or written: its file is damaged or missing, or a right is missing."""


class IndexIsNewer(IndexUnusable):
    """The index is that of servers of a newer version, which is left alone."""


class IndexTransaction(Protocol):
    """Statements on the index that see one state of it. Their arguments are ``$1``, ``$2`` and so on."""

    async def rows(self, statement: str, *arguments: object) -> Sequence[Any]:
        """Return the rows of a statement."""

    async def rows_of_all(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> list[Sequence[Any]]:
        """Return the rows of several statements with their arguments, in one go."""

    async def each(self, statement: str, arguments: Sequence[Sequence[object]]) -> None:
        """Carry out a statement once for each row of arguments."""

    async def each_of_all(self, work: Sequence[tuple[str, Sequence[Sequence[object]]]]) -> None:
        """Carry out several statements, each once for each row of its arguments, in one go."""

    async def script(self, statements: Sequence[str]) -> None:
        """Carry out statements without arguments, one after the other."""


class IndexDatabase(Protocol):
    """Where an index is kept: a file, memory, or a schema of a database.

    Its methods raise :class:`IndexUnusable` where it cannot be used, and ``StoreTimeout`` for a statement that takes
    too long.
    """

    @property
    def dialect(self) -> IndexDialect:
        """Its kind of SQL."""

    def reading(self) -> AbstractAsyncContextManager[IndexTransaction]:
        """Return a transaction that only reads."""

    @property
    def is_shared(self) -> bool:
        """Whether it outlives this process, and others see it."""

    def writing(self) -> AbstractAsyncContextManager[IndexTransaction | None]:
        """Return a transaction that writes; None while another server has one. An exception undoes it."""

    def noting(self) -> AbstractAsyncContextManager[IndexTransaction | None]:
        """Return a transaction that writes refusals, which waits for no step of another server where it can."""

    async def prepare(self) -> None:
        """Make what every index has: the tables of its state and of refusals.

        An index of another format is removed, but no refusals.
        """

    async def remove(self) -> None:
        """Remove the whole index, whatever is wrong with it; the next :meth:`prepare` begins a new one.

        Refusals stay if there is a way.
        """

    async def size_bytes(self) -> int:
        """Return how much space it takes."""

    async def close(self) -> None:
        """Release what it has open."""
