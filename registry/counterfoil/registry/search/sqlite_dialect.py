"""The tables of an index and the queries of them in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from counterfoil.registry.search.dialects import (
    HIT_COLUMNS,
    HIT_OF_RANGE,
    IndexDialect,
    Statement,
    parts_of,
    qualified,
    refusal_tables,
)
from counterfoil.registry.search.lives import HitRole, IndexWord

_OPTIONS: Final = "content='', detail=none, columnsize=0"
_LOW: Final = "json_extract(r.value, '$[0]')"
_HIGH: Final = "json_extract(r.value, '$[1]')"
_KEYS: Final = "word, state, scope, place"


class SqliteDialect(IndexDialect):
    """The statements for SQLite; ``has_parts`` is whether it has FTS5 with trigrams.

    The full-text tables have no content and no positions: they say which rows may match, and ``instr`` says which do.
    A row of them cannot be removed; it is of no word any more then. Names of subjects have a table of their own: they
    often have their beginnings and ends in common, and are as many as all other names.
    """

    schema = ""

    def __init__(self, *, has_parts: bool) -> None:
        self.has_parts = self.has_doc_words = has_parts

    def creation(self, g: int) -> list[str]:
        """Return the statements that make the tables of a generation that is to be filled."""
        return [
            (
                f"CREATE TABLE {self.table('words', g)} (id INTEGER PRIMARY KEY, role INTEGER NOT NULL,"
                " key BLOB NOT NULL UNIQUE, text TEXT NOT NULL, folded TEXT NOT NULL)"
            ),
            f"CREATE TABLE {self.filled_table(g)} ({HIT_COLUMNS})",
            (
                f"CREATE TABLE {self.table('subjects', g)} (scope TEXT PRIMARY KEY, latest INTEGER,"
                " last INTEGER NOT NULL, language TEXT NOT NULL, document BLOB NOT NULL, postings BLOB NOT NULL)"
                " WITHOUT ROWID"
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

    def completion(self, g: int) -> list[list[str]]:
        """Return the statements that make it ready for queries and for changes."""
        words, hits, filled = self.table("words", g), self.table("hits", g), self.filled_table(g)
        made = [
            [f"CREATE INDEX {words}_folded ON {words} (role, folded, key)"],
            [
                (
                    f"CREATE TABLE {hits} (word INTEGER, state INTEGER, scope TEXT, place INTEGER, path TEXT,"
                    " type TEXT, tags TEXT, language TEXT, since INTEGER, until INTEGER,"
                    f" PRIMARY KEY ({_KEYS})) WITHOUT ROWID"
                ),
                f"INSERT INTO {hits} ({HIT_COLUMNS}) SELECT {HIT_COLUMNS} FROM {filled} ORDER BY {_KEYS}",
                f"DROP TABLE {filled}",
            ],
        ]
        if self.has_parts:
            trigram = f"folded, tokenize='trigram case_sensitive 1', {_OPTIONS}"
            made += [
                [
                    f"CREATE VIRTUAL TABLE scopes_{g} USING fts5 ({trigram})",
                    self._scopes_put(g, "role = 0"),
                    f"CREATE VIRTUAL TABLE parts_{g} USING fts5 ({trigram})",
                    self._parts_put(g, f"role NOT IN (0, {int(HitRole.DOC)})"),
                ],
                [
                    f"CREATE VIRTUAL TABLE docs_{g} USING fts5 (words, tokenize='ascii', {_OPTIONS})",
                    self._docs_put(g, f"role = {int(HitRole.DOC)}"),
                ],
            ]
        return made

    def _scopes_put(self, g: int, condition: str) -> str:
        return (
            f"INSERT INTO scopes_{g} (rowid, folded) SELECT id, folded FROM {self.table('words', g)} WHERE {condition}"
        )

    def _parts_put(self, g: int, condition: str) -> str:
        return (
            f"INSERT INTO parts_{g} (rowid, folded) SELECT id, folded FROM {self.table('words', g)} WHERE {condition}"
        )

    def _docs_put(self, g: int, condition: str) -> str:
        return (
            f"INSERT INTO docs_{g} (rowid, words) SELECT id, doc_words(text) FROM {self.table('words', g)}"
            f" WHERE {condition}"
        )

    def put_parts(self, g: int) -> list[str]:
        """Return the statements that add words to the indexes of parts."""
        if not self.has_parts:
            return []
        given = "id IN (SELECT value FROM json_each($1))"
        return [
            self._scopes_put(g, f"{given} AND role = 0"),
            self._parts_put(g, f"{given} AND role NOT IN (0, {int(HitRole.DOC)})"),
            self._docs_put(g, f"{given} AND role = {int(HitRole.DOC)}"),
        ]

    def removal(self, g: int) -> list[str]:
        """Return the statements that remove them, where they are."""
        others = [self.filled_table(g), *(f"{name}_{g}" for name in ("scopes", "parts", "docs"))]
        return [*super().removal(g), *(f"DROP TABLE IF EXISTS {each}" for each in others)]

    def filled_table(self, g: int) -> str:
        """Return the name of the table that has the hits of a generation until it is complete."""
        return f"filled_{g}"

    @property
    def refusal_tables(self) -> list[str]:
        """The statements that make the tables of refusals."""
        return refusal_tables("", number="INTEGER", data="BLOB")

    # --- arguments

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

    # --- words

    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""
        return (
            f"SELECT w.key, w.id FROM json_each($1) k CROSS JOIN {self.table('words', g)} w ON w.key = unhexed(k.value)"
        )

    def put_word(self, g: int) -> str:
        """Return the statement that adds a word unless it is there."""
        return (
            f"INSERT INTO {self.table('words', g)} (role, key, text, folded) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT (key) DO NOTHING"
        )

    def word_row(self, word: IndexWord, key: bytes) -> tuple[object, ...]:
        """Return the arguments of that statement; the words of a documentation text are found in the text."""
        return int(word.role), key, word.text, word.folded

    def contains(self, text: str, part: str) -> str:
        """Return the condition that the text of an expression contains another one."""
        return f"instr({text}, {part}) > 0"

    def is_beyond_ascii(self, text: str) -> str:
        """Return the condition that the text of an expression has characters beyond ASCII."""
        return f"length({text}) <> length(CAST({text} AS BLOB))"

    def _numbered(self, g: int) -> str:
        return (
            f"SELECT w.id, w.text, w.folded, w.key, w.role FROM json_each($1) n CROSS JOIN {self.table('words', g)} w "
            "WHERE w.id = n.value"
        )

    def names_with_part(self, g: int, role: HitRole, word: str, limit: int) -> Statement:
        """Return the query of words of a role with ``word`` inside."""
        found = self._matching(g, role, " AND ".join(_quoted(part) for part in parts_of(word)))
        return f"{found[0]} AND instr(w.folded, $3) > 0 LIMIT $4", (*found[1], word, limit)

    def names_like(self, g: int, role: HitRole, word: str, limit: int) -> Statement | None:
        """Return the query of some words of a role that have three characters in common with ``word``."""
        parts = parts_of(word)
        if not (self.has_parts and parts):
            return None
        found = self._matching(g, role, " OR ".join(map(_quoted, parts)))
        return f"{found[0]} LIMIT $3", (*found[1], limit)

    def _matching(self, g: int, role: HitRole, wanted: str) -> Statement:
        parts, words = f"{'parts' if role else 'scopes'}_{g}", self.table("words", g)
        return (
            f"SELECT w.id, w.text, w.folded, w.key FROM {parts} CROSS JOIN {words} w ON w.id = {parts}.rowid "
            f"WHERE {parts} MATCH $1 AND w.role = $2"
        ), (wanted, int(role))

    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of documentation texts that have words which begin with ``words``."""
        wanted = " AND ".join(f"{_quoted(word)} *" for word in words)
        return (
            (
                f"SELECT w.id, w.text, w.folded, w.key FROM (SELECT rowid AS id FROM docs_{g}"
                f" WHERE docs_{g} MATCH $1 LIMIT $2) d CROSS JOIN {self.table('words', g)} w ON w.id = d.id"
            ),
            (wanted, limit),
        )

    # --- hits

    def hits_in_order(self, g: int) -> str:
        """Return the query of hits in order.

        The joins are carried out as they are written (``CROSS JOIN``), so that the rows come in order without a sort.
        """
        condition = HIT_OF_RANGE.format(word="w.value", low=_LOW, high=_HIGH)
        return (
            f"SELECT {qualified(HIT_COLUMNS, 'h')} FROM json_each($1) w CROSS JOIN json_each($2) r "
            f"CROSS JOIN {self.table('hits', g)} h WHERE {condition} AND (h.scope, h.place) > ($5, $6) LIMIT $4"
        )

    def scopes_within(self, g: int) -> str:
        """Return the query of the keys of the subjects in some ranges."""
        return (
            f"SELECT s.scope FROM json_each($1) r CROSS JOIN {self.table('subjects', g)} s "
            f"WHERE s.scope >= {_LOW} AND s.scope < {_HIGH} LIMIT $2"
        )

    def hits_at(self, g: int) -> str:
        """Return the query of the hits at some places."""
        word, state, scope = (f"json_extract(p.value, '$[{at}]')" for at in range(3))
        return (
            f"SELECT {qualified(HIT_COLUMNS, 'h')} FROM json_each($1) p CROSS JOIN {self.table('hits', g)} h "
            f"WHERE h.word = {word} AND h.state = {state} AND h.scope = {scope}"
        )

    def hits_counted(self, g: int, condition: str) -> str:
        """Return the query of the numbers of hits and subjects."""
        words, hits = self.table("words", g), self.table("hits", g)
        return (
            "SELECT count(*), count(DISTINCT scope) FROM (SELECT h.scope AS scope FROM "
            f"(SELECT id FROM {words} WHERE role = $1 AND folded >= $2 AND folded < $3{condition} "
            f"UNION ALL SELECT value FROM json_each($5)) w CROSS JOIN {hits} h "
            "WHERE h.word = w.id AND h.state = $4 LIMIT $6)"
        )


def _quoted(text: str) -> str:
    """Return a text as a string of a full-text query, in which no sign has a meaning."""
    return '"' + text.replace('"', '""') + '"'
