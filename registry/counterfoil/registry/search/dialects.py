"""The tables of an index and the queries of them, in the SQL of SQLite and of PostgreSQL.

All tables have a generation in their names: a new one is filled beside the one that answers queries. The arguments of
statements are written ``$1``, ``$2``, …; lists are arguments as :meth:`IndexDialect.numbers` and its like make them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from counterfoil.registry.search.texts import trigrams

FORMAT: Final = 2
"""The format of an index; one of another format is removed and built anew."""

Statement: TypeAlias = "tuple[str, tuple[object, ...]]"
"""A statement and its arguments."""

HIT_COLUMNS: Final = "word, role, state, scope, place, path, type, tags, language, since, until"
TABLES: Final = ("words", "hits", "subjects", "fingerprints", "unreadable")

MAX_CANDIDATES: Final = 5_000
"""The largest number of names or texts that one word of a query is compared with."""

REFUSAL_TABLES: Final = ("refusals_1", "refusal_requests_1")
"""The tables of refused registrations, which are of no generation and stay where an index is built anew.

The number in their names is that of their format: another one has tables of its own.
"""

_MAX_PARTS: Final = 16


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
        """Return the statements that make the tables of a generation."""

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

    def ranges(self, values: Sequence[tuple[str, str]]) -> str:
        """Return ranges of keys as one argument."""
        return json.dumps(values)

    # --- writing

    @abstractmethod
    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""

    def put_word(self, g: int) -> str:
        """Return the statement that adds a word (key, text, folded, beginning) unless it is there.

        ``beginning`` is what a documentation text is sorted by; that of a name is NULL.
        """
        return (
            f"INSERT INTO {self.table('words', g)} (key, text, folded, beginning) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT (key) DO NOTHING"
        )

    @abstractmethod
    def put_parts(self, g: int) -> str:
        """Return the statement that adds a name (number, folded) to an index of parts of its own; empty if none."""

    @abstractmethod
    def put_doc_words(self, g: int) -> str:
        """Return the statement that adds a documentation text (number, words) to the index of words; empty if none."""

    @abstractmethod
    def doc_argument(self, words: Sequence[str]) -> object:
        """Return the words of a documentation text as an argument of that statement."""

    def put_hit(self, g: int) -> str:
        """Return the statement that adds a hit, or replaces it."""
        values = ", ".join(f"${number}" for number in range(1, 12))
        changed = ", ".join(
            f"{each} = excluded.{each}" for each in ("path", "type", "tags", "language", "since", "until")
        )
        return (
            f"INSERT INTO {self.table('hits', g)} ({HIT_COLUMNS}) VALUES ({values}) "
            f"ON CONFLICT (word, role, state, scope, place) DO UPDATE SET {changed}"
        )

    def remove_hit(self, g: int) -> str:
        """Return the statement that removes the hit with a key."""
        return (
            f"DELETE FROM {self.table('hits', g)} "
            "WHERE word = $1 AND role = $2 AND state = $3 AND scope = $4 AND place = $5"
        )

    # --- names and texts

    def names_from(self, g: int) -> str:
        """Return the query of names (number, text, folded, key) from ``$1`` on and below ``$2``, ``$3`` at most."""
        return (
            f"SELECT id, text, folded, key FROM {self.table('words', g)} "
            "WHERE folded >= $1 AND folded < $2 ORDER BY folded, text LIMIT $3"
        )

    @abstractmethod
    def names_with_part(self, g: int, word: str, limit: int) -> Statement:
        """Return the query of names (number, text, folded, key) with ``word`` inside."""

    @abstractmethod
    def names_like(self, g: int, word: str, limit: int) -> Statement | None:
        """Return the query of some names (number, text, folded, key) with three characters of ``word`` inside.

        None where there is no index of parts.
        """

    @abstractmethod
    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of texts (number, text, beginning, key) that have words which begin with ``words``.

        Where there is no index of words, it is the query of all, and the caller compares them.
        """

    # --- hits

    @abstractmethod
    def hits_in_order(self, g: int) -> str:
        """Return the query of hits of the words ``$1`` in the ranges ``$2``, with role ``$3`` and state ``$4``.

        At most ``$5``, behind the key ``$6``, ``$7``; in the order of the words, the ranges, and then of their keys.
        """

    @abstractmethod
    def hits_counted(self, g: int) -> str:
        """Return the query of the number of these hits and of their subjects, where ``$5`` are counted at most."""

    @abstractmethod
    def hits_by_role(self, g: int) -> str:
        """Return the query of role, state, and the numbers of hits and of their subjects, of the words ``$1``.

        At most ``$2`` hits are looked at, in all subjects.
        """

    def subjects_in(self, g: int, columns: str, condition: str = "") -> str:
        """Return the query of the subjects in the range from ``$1`` on and below ``$2``, ``$3`` at most."""
        return (
            f"SELECT {columns} FROM {self.table('subjects', g)} "
            f"WHERE scope >= $1 AND scope < $2 {condition} ORDER BY scope LIMIT $3"
        )


_HIT_OF_RANGE: Final = "h.word = {word} AND h.role = $3 AND h.state = $4 AND h.scope >= {low} AND h.scope < {high}"


class SqliteDialect(IndexDialect):
    """The statements for SQLite; ``has_parts`` is whether it has FTS5 with trigrams.

    The full-text tables have no content and no positions: they say which rows may match, and ``instr`` says which do.
    A row of them cannot be removed; it is of no word any more then.
    """

    schema = ""

    def __init__(self, *, has_parts: bool) -> None:
        self.has_parts = self.has_doc_words = has_parts

    def creation(self, g: int) -> list[str]:
        """Return the statements that make the tables of a generation."""
        words, hits = self.table("words", g), self.table("hits", g)
        made = [
            (
                f"CREATE TABLE {words} (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, text TEXT NOT NULL,"
                " folded TEXT, beginning TEXT)"
            ),
            f"CREATE INDEX {words}_folded ON {words} (folded, text) WHERE folded IS NOT NULL",
            (
                f"CREATE TABLE {hits} (word INTEGER, role INTEGER, state INTEGER, scope TEXT, place INTEGER, path TEXT,"
                " type TEXT, tags TEXT, language TEXT, since INTEGER, until INTEGER,"
                " PRIMARY KEY (word, role, state, scope, place)) WITHOUT ROWID"
            ),
            (
                f"CREATE TABLE {self.table('subjects', g)} (scope TEXT PRIMARY KEY, latest INTEGER,"
                " last INTEGER NOT NULL,"
                " language TEXT NOT NULL, document BLOB NOT NULL) WITHOUT ROWID"
            ),
            (
                f"CREATE TABLE {self.table('fingerprints', g)} (fingerprint BLOB, guid BLOB,"
                " PRIMARY KEY (fingerprint, guid)) WITHOUT ROWID"
            ),
            (
                f"CREATE TABLE {self.table('unreadable', g)} (scope TEXT, version INTEGER, problem TEXT NOT NULL,"
                " PRIMARY KEY (scope, version)) WITHOUT ROWID"
            ),
        ]
        if self.has_parts:
            options = "content='', detail=none, columnsize=0"
            made += [
                f"CREATE VIRTUAL TABLE parts_{g} USING fts5 (folded, tokenize='trigram case_sensitive 1', {options})",
                f"CREATE VIRTUAL TABLE docs_{g} USING fts5 (words, tokenize='ascii', {options})",
            ]
        return made

    def removal(self, g: int) -> list[str]:
        """Return the statements that remove them, where they are."""
        return [*super().removal(g), f"DROP TABLE IF EXISTS parts_{g}", f"DROP TABLE IF EXISTS docs_{g}"]

    @property
    def refusal_tables(self) -> list[str]:
        """The statements that make the tables of refusals."""
        return _refusal_tables("", number="INTEGER", data="BLOB")

    def numbers(self, values: Sequence[int]) -> object:
        """Return numbers as one argument."""
        return json.dumps(values)

    def digests(self, values: Sequence[bytes]) -> object:
        """Return digests as one argument."""
        return json.dumps([each.hex() for each in values])

    def texts(self, values: Sequence[str]) -> object:
        """Return texts as one argument."""
        return json.dumps(values)

    def among(self, expression: str, argument: str) -> str:
        """Return the condition that an expression is one of the texts in an argument."""
        return f"{expression} IN (SELECT value FROM json_each({argument}))"

    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""
        return (
            f"SELECT w.key, w.id FROM json_each($1) k CROSS JOIN {self.table('words', g)} w ON w.key = unhexed(k.value)"
        )

    def put_parts(self, g: int) -> str:
        """Return the statement that adds a name to the index of parts."""
        return f"INSERT INTO parts_{g} (rowid, folded) VALUES ($1, $2)" if self.has_parts else ""

    def put_doc_words(self, g: int) -> str:
        """Return the statement that adds a documentation text to the index of words."""
        return f"INSERT INTO docs_{g} (rowid, words) VALUES ($1, $2)" if self.has_parts else ""

    def doc_argument(self, words: Sequence[str]) -> object:
        """Return the words of a documentation text as an argument of that statement."""
        return " ".join(words)

    def names_with_part(self, g: int, word: str, limit: int) -> Statement:
        """Return the query of names with ``word`` inside."""
        words = self.table("words", g)
        if not self.has_parts:
            scan = (
                f"SELECT id, text, folded, key FROM {words} WHERE folded IS NOT NULL AND instr(folded, $1) > 0 LIMIT $2"
            )
            return scan, (word, limit)
        wanted = " AND ".join(_quoted(part) for part in trigrams(word)[:_MAX_PARTS])
        return (
            (
                f"SELECT w.id, w.text, w.folded, w.key FROM (SELECT rowid AS id FROM parts_{g} WHERE parts_{g} MATCH $1"
                f" LIMIT $3) p CROSS JOIN {words} w ON w.id = p.id WHERE instr(w.folded, $2) > 0"
            ),
            (wanted, word, limit),
        )

    def names_like(self, g: int, word: str, limit: int) -> Statement | None:
        """Return the query of some names that have three characters in common with ``word``."""
        parts = trigrams(word)[:_MAX_PARTS]
        if not (self.has_parts and parts):
            return None
        return (
            (
                f"SELECT w.id, w.text, w.folded, w.key FROM (SELECT rowid AS id FROM parts_{g} WHERE parts_{g} MATCH $1"
                f" LIMIT $2) p CROSS JOIN {self.table('words', g)} w ON w.id = p.id"
            ),
            (" OR ".join(map(_quoted, parts)), limit),
        )

    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of documentation texts that have words which begin with ``words``."""
        table = self.table("words", g)
        if not self.has_parts:
            return f"SELECT id, text, beginning, key FROM {table} WHERE folded IS NULL LIMIT $1", (-1,)
        wanted = " AND ".join(f"{_quoted(word)} *" for word in words)
        return (
            (
                f"SELECT w.id, w.text, w.beginning, w.key FROM (SELECT rowid AS id FROM docs_{g}"
                f" WHERE docs_{g} MATCH $1 LIMIT $2) d CROSS JOIN {table} w ON w.id = d.id"
            ),
            (wanted, limit),
        )

    def hits_in_order(self, g: int) -> str:
        """Return the query of hits in order.

        The joins are carried out as they are written (``CROSS JOIN``), so that the rows come in order without a sort.
        """
        return f"SELECT {qualified(HIT_COLUMNS, 'h')} {self._hits(g)} AND (h.scope, h.place) > ($6, $7) LIMIT $5"

    def hits_counted(self, g: int) -> str:
        """Return the query of the numbers of hits and subjects."""
        return f"SELECT count(*), count(DISTINCT scope) FROM (SELECT h.scope AS scope {self._hits(g)} LIMIT $5)"

    def hits_by_role(self, g: int) -> str:
        """Return the query of the numbers of hits and subjects by role and state."""
        return (
            "SELECT role, state, count(*), count(DISTINCT scope) FROM (SELECT h.role, h.state, h.scope "
            f"FROM json_each($1) w CROSS JOIN {self.table('hits', g)} h "
            "WHERE h.word = w.value LIMIT $2) GROUP BY role, state"
        )

    def _hits(self, g: int) -> str:
        low, high = "json_extract(r.value, '$[0]')", "json_extract(r.value, '$[1]')"
        condition = _HIT_OF_RANGE.format(word="w.value", low=low, high=high)
        hits = self.table("hits", g)
        return f"FROM json_each($1) w CROSS JOIN json_each($2) r CROSS JOIN {hits} h WHERE {condition}"


def _refusal_tables(schema: str, *, number: str, data: str) -> list[str]:
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


def _quoted(text: str) -> str:
    """Return a text as a string of a full-text query, in which no sign has a meaning."""
    return '"' + text.replace('"', '""') + '"'


class PostgresDialect(IndexDialect):
    """The statements for PostgreSQL; ``trigrams`` is the schema of the extension ``pg_trgm``, empty if it is absent."""

    schema = "counterfoil_search."
    has_doc_words = True

    def __init__(self, *, trigrams: str = "") -> None:
        self.has_parts = bool(trigrams)
        self._trigrams = trigrams

    def creation(self, g: int) -> list[str]:
        """Return the statements that make the tables of a generation."""
        words, hits = self.table("words", g), self.table("hits", g)
        made = [
            (
                f"CREATE TABLE {words} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bytea NOT NULL UNIQUE,"
                ' text text COLLATE "C" NOT NULL, folded text COLLATE "C",'
                ' beginning text COLLATE "C", lexemes tsvector)'
            ),
            f"CREATE INDEX ON {words} (folded) WHERE folded IS NOT NULL",
            f"CREATE INDEX ON {words} USING gin (lexemes) WHERE folded IS NULL",
            (
                f'CREATE TABLE {hits} (word bigint, role smallint, state smallint, scope text COLLATE "C",'
                " place bigint, path text, type text, tags text, language text, since integer, until integer,"
                " PRIMARY KEY (word, role, state, scope, place))"
            ),
            (
                f'CREATE TABLE {self.table("subjects", g)} (scope text COLLATE "C" PRIMARY KEY, latest integer,'
                " last integer NOT NULL, language text NOT NULL, document bytea NOT NULL)"
            ),
            (
                f"CREATE TABLE {self.table('fingerprints', g)} (fingerprint bytea, guid bytea,"
                " PRIMARY KEY (fingerprint, guid))"
            ),
            (
                f'CREATE TABLE {self.table("unreadable", g)} (scope text COLLATE "C", version integer,'
                " problem text NOT NULL, PRIMARY KEY (scope, version))"
            ),
        ]
        if self.has_parts:
            operators = f'"{self._trigrams}".gin_trgm_ops'
            made.append(f"CREATE INDEX ON {words} USING gin (folded {operators}) WHERE folded IS NOT NULL")
        return made

    @property
    def refusal_tables(self) -> list[str]:
        """The statements that make the tables of refusals."""
        return _refusal_tables(self.schema, number="bigint", data="bytea")

    def numbers(self, values: Sequence[int]) -> object:
        """Return numbers as one argument."""
        return list(values)

    def digests(self, values: Sequence[bytes]) -> object:
        """Return digests as one argument."""
        return list(values)

    def texts(self, values: Sequence[str]) -> object:
        """Return texts as one argument."""
        return list(values)

    def among(self, expression: str, argument: str) -> str:
        """Return the condition that an expression is one of the texts in an argument."""
        return f"{expression} = ANY ({argument}::text[])"

    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""
        return f"SELECT key, id FROM {self.table('words', g)} WHERE key = ANY ($1::bytea[])"

    def put_parts(self, g: int) -> str:
        """Return no statement: the index is one of the table of words."""
        del g
        return ""

    def put_doc_words(self, g: int) -> str:
        """Return the statement that adds a documentation text to the index of words."""
        return f"UPDATE {self.table('words', g)} SET lexemes = array_to_tsvector($2::text[]) WHERE id = $1"

    def doc_argument(self, words: Sequence[str]) -> Any:
        """Return the words of a documentation text as an argument of that statement."""
        return list(words)

    def names_with_part(self, g: int, word: str, limit: int) -> Statement:
        """Return the query of names with ``word`` inside."""
        return (
            (
                f"SELECT id, text, folded, key FROM {self.table('words', g)} "
                "WHERE folded IS NOT NULL AND folded LIKE $1 LIMIT $2"
            ),
            (f"%{_escaped(word)}%", limit),
        )

    def names_like(self, g: int, word: str, limit: int) -> Statement | None:
        """Return the query of some names that have three characters in common with ``word``."""
        parts = trigrams(word)[:_MAX_PARTS]
        if not (self.has_parts and parts):
            return None
        return (
            (
                f"SELECT id, text, folded, key FROM {self.table('words', g)} "
                "WHERE folded IS NOT NULL AND folded LIKE ANY ($1::text[]) LIMIT $2"
            ),
            ([f"%{_escaped(part)}%" for part in parts], limit),
        )

    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of documentation texts that have words which begin with ``words``."""
        wanted = " & ".join(f"'{word}':*" for word in words)  # they are letters and digits alone
        return (
            (
                f"SELECT id, text, beginning, key FROM {self.table('words', g)} "
                "WHERE folded IS NULL AND lexemes @@ $1::text::tsquery LIMIT $2"
            ),
            (wanted, limit),
        )

    def hits_in_order(self, g: int) -> str:
        """Return the query of hits in order."""
        columns = qualified(HIT_COLUMNS, "h")
        return (
            f"SELECT {columns} FROM unnest($1::bigint[]) WITH ORDINALITY w (id, turn) CROSS JOIN "
            "jsonb_array_elements($2::text::jsonb) WITH ORDINALITY r (pair, turn) CROSS JOIN LATERAL ("
            f"SELECT * FROM {self.table('hits', g)} h WHERE {self._condition} "
            "AND (h.scope, h.place) > ($6::text, $7::bigint) ORDER BY h.scope, h.place LIMIT $5) h "
            "ORDER BY w.turn, r.turn, h.scope, h.place LIMIT $5"
        )

    def hits_counted(self, g: int) -> str:
        """Return the query of the numbers of hits and subjects."""
        return (
            "SELECT count(*), count(DISTINCT scope) FROM (SELECT h.scope FROM unnest($1::bigint[]) w (id) CROSS JOIN "
            f"jsonb_array_elements($2::text::jsonb) r (pair) JOIN {self.table('hits', g)} h ON {self._condition} "
            "LIMIT $5) counted"
        )

    def hits_by_role(self, g: int) -> str:
        """Return the query of the numbers of hits and subjects by role and state."""
        return (
            "SELECT role, state, count(*), count(DISTINCT scope) FROM (SELECT h.role, h.state, h.scope "
            f"FROM unnest($1::bigint[]) w (id) JOIN {self.table('hits', g)} h "
            "ON h.word = w.id LIMIT $2) counted GROUP BY role, state"
        )

    @property
    def _condition(self) -> str:
        low, high = '(r.pair ->> 0) COLLATE "C"', '(r.pair ->> 1) COLLATE "C"'
        return _HIT_OF_RANGE.format(word="w.id", low=low, high=high)


def _escaped(text: str) -> str:
    r"""Return a text as part of a pattern of ``LIKE``, in which no sign has a meaning.

    >>> _escaped("50%_a")
    '50\\%\\_a'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
