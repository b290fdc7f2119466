"""The tables of an index and the queries of them, as far as SQLite and PostgreSQL have the same SQL.

All tables have a generation in their names: a new one is filled beside the one that answers queries. The arguments of
statements are written ``$1``, ``$2``, …; lists are arguments as :meth:`IndexDialect.numbers` and its like make them.

A generation is filled without most of its keys, and gets them at the end, by sorting: to put each row at its place in
a large table takes many times as long. So it answers no query before.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from counterfoil.registry.search.lives import HitRole, IndexWord
from counterfoil.registry.search.texts import trigrams

FORMAT: Final = 3
"""The format of an index; one of another format is removed and built anew."""

Statement: TypeAlias = "tuple[str, tuple[Any, ...]]"
"""A statement and its arguments."""

HIT_COLUMNS: Final = "word, state, scope, place, path, type, tags, language, since, until"
TABLES: Final = ("words", "hits", "subjects", "fingerprints", "unreadable")

REFUSAL_TABLES: Final = ("refusals_1", "refusal_requests_1")
"""The tables of refused registrations, which are of no generation and stay where an index is built anew.

The number in their names is that of their format: another one has tables of its own.
"""

MAX_PARTS: Final = 16
"""The trigrams of a word that are looked up."""


def qualified(columns: str, table: str) -> str:
    """Return a list of columns with the name of their table.

    >>> qualified("a, b", "h")
    'h.a, h.b'
    """
    return ", ".join(f"{table}.{each.strip()}" for each in columns.split(","))


class IndexDialect(ABC):
    """The statements of one kind of database.

    ``has_parts``: it finds parts of names without reading all of them; ``has_doc_words``: likewise the words of
    documentation.
    """

    has_parts: bool
    has_doc_words: bool
    schema: str
    """What stands before the names of tables."""

    def table(self, name: str, g: int) -> str:
        """Return the name of a table of a generation."""
        return f"{self.schema}{name}_{g}"

    @abstractmethod
    def creation(self, g: int) -> list[str]:
        """Return the statements that make the tables of a generation that is to be filled."""

    @abstractmethod
    def completion(self, g: int) -> list[list[str]]:
        """Return the statements that make it ready for queries and for changes, as some transactions."""

    def removal(self, g: int) -> list[str]:
        """Return the statements that remove them, where they are."""
        return [f"DROP TABLE IF EXISTS {self.table(name, g)}" for name in TABLES]

    @property
    @abstractmethod
    def refusal_tables(self) -> list[str]:
        """The statements that make the tables of refusals, where they are missing."""

    # --- arguments

    @abstractmethod
    def numbers(self, values: Sequence[int]) -> object:
        """Return numbers as one argument."""

    @abstractmethod
    def digests(self, values: Sequence[bytes]) -> object:
        """Return digests as one argument."""

    @abstractmethod
    def texts(self, values: Sequence[str]) -> object:
        """Return texts as one argument."""

    @abstractmethod
    def among(self, expression: str, argument: str) -> str:
        """Return the condition that an expression is one of the texts in an argument."""

    def places(self, values: Sequence[tuple[int, int, str]]) -> str:
        """Return places of hits (word, state, scope) as one argument."""
        return json.dumps(values)

    def ranges(self, values: Sequence[tuple[str, str]]) -> str:
        """Return ranges of keys as one argument."""
        return json.dumps(values)

    # --- writing

    @abstractmethod
    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""

    @abstractmethod
    def put_word(self, g: int) -> str:
        """Return the statement that adds a word unless it is there."""

    @abstractmethod
    def word_row(self, word: IndexWord, key: bytes) -> tuple[object, ...]:
        """Return the arguments of that statement for a word with its digest."""

    def put_parts(self, g: int) -> list[str]:
        """Return the statements that add the words with the numbers ``$1`` to indexes of parts of their own."""
        del g
        return []

    def fill_hit(self, g: int) -> str:
        """Return the statement that adds a hit to a generation that is being filled."""
        values = ", ".join(f"${number}" for number in range(1, 11))
        return f"INSERT INTO {self.filled_table(g)} ({HIT_COLUMNS}) VALUES ({values})"

    def filled_table(self, g: int) -> str:
        """Return the name of the table that has the hits of a generation until it is complete."""
        return self.table("hits", g)

    def put_hit(self, g: int) -> str:
        """Return the statement that adds a hit, or replaces it."""
        values = ", ".join(f"${number}" for number in range(1, 11))
        changed = ", ".join(
            f"{each} = excluded.{each}" for each in ("path", "type", "tags", "language", "since", "until")
        )
        return (
            f"INSERT INTO {self.table('hits', g)} ({HIT_COLUMNS}) VALUES ({values}) "
            f"ON CONFLICT (word, state, scope, place) DO UPDATE SET {changed}"
        )

    def remove_hit(self, g: int) -> str:
        """Return the statement that removes the hit with a key."""
        return f"DELETE FROM {self.table('hits', g)} WHERE word = $1 AND state = $2 AND scope = $3 AND place = $4"

    # --- names and texts: number, text, folded, key

    def words_from(self, g: int, condition: str = "") -> str:
        """Return the query of words of the role ``$1`` behind ``$2``, ``$3`` (folded, key) and below ``$4``.

        ``$5`` at most, in order; each has to fulfil a ``condition`` of :meth:`with_part` or :meth:`with_doc_words`.
        """
        return (
            f"SELECT id, text, folded, key FROM {self.table('words', g)} WHERE role = $1 AND (folded, key) > ($2, $3)"
            f" AND folded < $4{condition} ORDER BY folded, key LIMIT $5"
        )

    @abstractmethod
    def contains(self, text: str, part: str) -> str:
        """Return the condition that the text of an expression contains another one."""

    @abstractmethod
    def is_beyond_ascii(self, text: str) -> str:
        """Return the condition that the text of an expression has characters beyond ASCII."""

    def with_part(self, words: Sequence[str], first: int) -> Statement:
        """Return the condition that a name contains one of some words, the arguments of which begin at ``first``."""
        return " OR ".join(self.contains("folded", f"${first + at}") for at in range(len(words))), tuple(words)

    def with_doc_words(self, words: Sequence[Sequence[str]], first: int) -> Statement:
        """Return a condition that documentation fulfils if it may have all parts of one of some words.

        A text beyond ASCII may be folded in ways that the database does not know.
        """
        text = "lower(text)"
        for sign in "_-.":
            text = f"replace({text}, '{sign}', '')"
        conditions = [self.is_beyond_ascii("text")]
        arguments: list[str] = []
        for parts in words:
            both = [self.contains(text, f"${first + len(arguments) + at}") for at in range(len(parts))]
            conditions.append(f"({' AND '.join(both)})")
            arguments += parts
        return " OR ".join(conditions), tuple(arguments)

    def words_among(
        self, g: int, *, numbers: Sequence[int], names: Sequence[str], docs: Sequence[Sequence[str]]
    ) -> Statement:
        """Return the query of word and role of those words with some numbers that may match words of a query."""
        conditions: list[str] = []
        arguments: tuple[Any, ...] = (self.numbers(numbers),)
        if names:
            part, given = self.with_part([*names], len(arguments) + 1)
            conditions.append(f"(role <> {int(HitRole.DOC)} AND ({part}))")
            arguments += given
        if docs:
            part, given = self.with_doc_words([*docs], len(arguments) + 1)
            conditions.append(f"(role = {int(HitRole.DOC)} AND ({part}))")
            arguments += given
        return f"{self._numbered(g)} AND ({' OR '.join(conditions) or 'false'})", arguments

    @abstractmethod
    def _numbered(self, g: int) -> str:
        """Return the query of word and role of the words with the numbers ``$1``."""

    @abstractmethod
    def names_with_part(self, g: int, role: HitRole, word: str, limit: int) -> Statement:
        """Return the query of words of a role with ``word`` inside, in any order; only where ``has_parts``."""

    @abstractmethod
    def names_like(self, g: int, role: HitRole, word: str, limit: int) -> Statement | None:
        """Return the query of some words of a role with three characters of ``word`` inside.

        None where there is no index of parts.
        """

    @abstractmethod
    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of texts that have words which begin with ``words``; only where ``has_doc_words``."""

    # --- hits

    @abstractmethod
    def hits_in_order(self, g: int) -> str:
        """Return the query of hits of the words ``$1`` in the ranges ``$2``, with the state ``$3``.

        At most ``$4``, behind the key ``$5``, ``$6``; in the order of the words, the ranges, and then of their keys.
        """

    @abstractmethod
    def hits_at(self, g: int) -> str:
        """Return the query of the hits at the places ``$1``, in their order."""

    @abstractmethod
    def hits_counted(self, g: int, condition: str) -> str:
        """Return the query of the numbers of hits and of their subjects, of words with the role ``$1``.

        Those with the numbers ``$5``, and those from ``$2`` on and below ``$3`` that fulfil a ``condition``; with the
        state ``$4``. At most ``$6`` hits are counted.
        """

    @abstractmethod
    def scopes_within(self, g: int) -> str:
        """Return the query of the keys of the subjects in the ranges ``$1``, ``$2`` at most, in their order."""

    def subjects_in(self, g: int, columns: str, condition: str = "") -> str:
        """Return the query of the subjects in the range from ``$1`` on and below ``$2``, ``$3`` at most."""
        return (
            f"SELECT {columns} FROM {self.table('subjects', g)} "
            f"WHERE scope >= $1 AND scope < $2 {condition} ORDER BY scope LIMIT $3"
        )


HIT_OF_RANGE: Final = "h.word = {word} AND h.state = $3 AND h.scope >= {low} AND h.scope < {high}"


def refusal_tables(schema: str, *, number: str, data: str) -> list[str]:
    """Return the statements that make the tables of refusals, with the types of a database for numbers and bytes."""
    refusals, requests = REFUSAL_TABLES
    return [
        (
            f"CREATE TABLE IF NOT EXISTS {schema}{refusals} (digest text PRIMARY KEY, last {number} NOT NULL,"
            f" subject text NOT NULL, size {number} NOT NULL, facts text NOT NULL, body {data} NOT NULL)"
        ),
        f"CREATE INDEX IF NOT EXISTS {refusals}_last ON {schema}{refusals} (last, digest, size)",
        f"CREATE INDEX IF NOT EXISTS {refusals}_subject ON {schema}{refusals} (subject, last, digest)",
        f"CREATE TABLE IF NOT EXISTS {schema}{requests} (request text, digest text, PRIMARY KEY (request, digest))",
        f"CREATE INDEX IF NOT EXISTS {requests}_digest ON {schema}{requests} (digest)",
    ]


def parts_of(word: str) -> list[str]:
    """Return the trigrams of a word that are looked up."""
    return trigrams(word)[:MAX_PARTS]
