"""The tables of an index and the queries of them in PostgreSQL."""

from __future__ import annotations

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
from counterfoil.registry.search.texts import words_of_doc

_LOW: Final = '(r.pair ->> 0) COLLATE "C"'
_HIGH: Final = '(r.pair ->> 1) COLLATE "C"'
_DOC: Final = int(HitRole.DOC)
_WORD: Final = "id, text, folded, key"


class PostgresDialect(IndexDialect):
    """The statements for PostgreSQL; ``trigrams`` is the schema of the extension ``pg_trgm``, empty if it is absent."""

    schema = "counterfoil_search."
    has_doc_words = True

    def __init__(self, *, trigrams: str = "") -> None:
        self.has_parts = bool(trigrams)
        self._trigrams = trigrams

    def creation(self, g: int) -> list[str]:
        """Return the statements that make the tables of a generation that is to be filled."""
        return [
            (
                f"CREATE TABLE {self.table('words', g)} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                ' role smallint NOT NULL, key bytea NOT NULL UNIQUE, text text COLLATE "C" NOT NULL,'
                ' folded text COLLATE "C" NOT NULL, lexemes tsvector)'
            ),
            (
                f"CREATE TABLE {self.table('hits', g)} (word bigint, place bigint, since integer, until integer,"
                ' state smallint, scope text COLLATE "C", path text, type text, tags text, language text)'
            ),
            (
                f'CREATE TABLE {self.table("subjects", g)} (scope text COLLATE "C" PRIMARY KEY, latest integer,'
                " last integer NOT NULL, language text NOT NULL, document bytea NOT NULL, postings bytea NOT NULL)"
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

    def completion(self, g: int) -> list[list[str]]:
        """Return the statements that make it ready for queries and for changes."""
        words, hits = self.table("words", g), self.table("hits", g)
        made = [
            [f"CREATE INDEX ON {words} (role, folded, key)"],
            [f"ALTER TABLE {hits} ADD PRIMARY KEY (word, state, scope, place)"],
            [f"CREATE INDEX ON {words} USING gin (lexemes) WHERE role = {_DOC}"],
        ]
        if self.has_parts:
            operators = f'"{self._trigrams}".gin_trgm_ops'
            made += [
                [f"CREATE INDEX ON {words} USING gin (folded {operators}) WHERE {condition}"]
                for condition in ("role = 0", f"role > 0 AND role < {_DOC}")
            ]
        return [*made, [f"ANALYZE {self.table(name, g)}" for name in ("words", "hits", "subjects")]]

    @property
    def refusal_tables(self) -> list[str]:
        """The statements that make the tables of refusals."""
        return refusal_tables(self.schema, number="bigint", data="bytea")

    # --- arguments

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

    # --- words

    def words_with_keys(self, g: int) -> str:
        """Return the query of key and number of the words with the digests ``$1``."""
        return f"SELECT key, id FROM {self.table('words', g)} WHERE key = ANY ($1::bytea[])"

    def put_word(self, g: int) -> str:
        """Return the statement that adds a word unless it is there."""
        return (
            f"INSERT INTO {self.table('words', g)} (role, key, text, folded, lexemes) "
            "VALUES ($1, $2, $3, $4, array_to_tsvector($5::text[])) ON CONFLICT (key) DO NOTHING"
        )

    def word_row(self, word: IndexWord, key: bytes) -> tuple[object, ...]:
        """Return the arguments of that statement for a word with its digest."""
        words = words_of_doc(word.text) if word.role is HitRole.DOC else None
        return int(word.role), key, word.text, word.folded, words

    def contains(self, text: str, part: str) -> str:
        """Return the condition that the text of an expression contains another one."""
        return f"strpos({text}, {part}) > 0"

    def is_beyond_ascii(self, text: str) -> str:
        """Return the condition that the text of an expression has characters beyond ASCII."""
        return f"length({text}) <> octet_length({text})"

    def _numbered(self, g: int) -> str:
        return f"SELECT {_WORD}, role FROM {self.table('words', g)} WHERE id = ANY ($1::bigint[])"

    def names_with_part(self, g: int, role: HitRole, word: str, limit: int) -> Statement:
        """Return the query of words of a role with ``word`` inside."""
        return f"{self._of_role(g, role)} AND folded LIKE $2 LIMIT $3", (int(role), f"%{_escaped(word)}%", limit)

    def names_like(self, g: int, role: HitRole, word: str, limit: int) -> Statement | None:
        """Return the query of some words of a role that have three characters in common with ``word``."""
        parts = parts_of(word)
        if not (self.has_parts and parts):
            return None
        given = [f"%{_escaped(part)}%" for part in parts]
        return f"{self._of_role(g, role)} AND folded LIKE ANY ($2::text[]) LIMIT $3", (int(role), given, limit)

    def _of_role(self, g: int, role: HitRole) -> str:
        """Return the query of words of a role, with the condition of the index of parts that has them."""
        partial = f"role > 0 AND role < {_DOC}" if role else "role = 0"
        return f"SELECT {_WORD} FROM {self.table('words', g)} WHERE {partial} AND role = $1"

    def docs_with_words(self, g: int, words: Sequence[str], limit: int) -> Statement:
        """Return the query of documentation texts that have words which begin with ``words``."""
        wanted = " & ".join(f"'{word}':*" for word in words)  # they are letters and digits alone
        return (
            (
                f"SELECT {_WORD} FROM {self.table('words', g)} "
                f"WHERE role = {_DOC} AND lexemes @@ $1::text::tsquery LIMIT $2"
            ),
            (wanted, limit),
        )

    # --- hits

    def hits_in_order(self, g: int) -> str:
        """Return the query of hits in order."""
        condition = HIT_OF_RANGE.format(word="w.id", low=_LOW, high=_HIGH)
        return (
            f"SELECT {qualified(HIT_COLUMNS, 'h')} FROM unnest($1::bigint[]) WITH ORDINALITY w (id, turn) CROSS JOIN "
            "jsonb_array_elements($2::text::jsonb) WITH ORDINALITY r (pair, turn) CROSS JOIN LATERAL ("
            f"SELECT * FROM {self.table('hits', g)} h WHERE {condition} "
            "AND (h.scope, h.place) > ($5::text, $6::bigint) ORDER BY h.scope, h.place LIMIT $4) h "
            "ORDER BY w.turn, r.turn, h.scope, h.place LIMIT $4"
        )

    def scopes_within(self, g: int) -> str:
        """Return the query of the keys of the subjects in some ranges."""
        return (
            "SELECT s.scope FROM "
            "jsonb_array_elements($1::text::jsonb) WITH ORDINALITY r (pair, turn) CROSS JOIN LATERAL "
            f"(SELECT scope FROM {self.table('subjects', g)} WHERE scope >= {_LOW} AND scope < {_HIGH} "
            "ORDER BY scope LIMIT $2) s ORDER BY r.turn, s.scope LIMIT $2"
        )

    def hits_at(self, g: int) -> str:
        """Return the query of the hits at some places."""
        return (
            f"SELECT {qualified(HIT_COLUMNS, 'h')} FROM "
            "jsonb_array_elements($1::text::jsonb) WITH ORDINALITY p (at, turn) CROSS JOIN LATERAL ("
            f"SELECT * FROM {self.table('hits', g)} h WHERE h.word = (p.at ->> 0)::bigint"
            ' AND h.state = (p.at ->> 1)::smallint AND h.scope = (p.at ->> 2) COLLATE "C") h ORDER BY p.turn, h.place'
        )

    def hits_counted(self, g: int, condition: str) -> str:
        """Return the query of the numbers of hits and subjects."""
        words, hits = self.table("words", g), self.table("hits", g)
        return (
            "SELECT count(*), count(DISTINCT scope) FROM (SELECT h.scope FROM "
            f"(SELECT id FROM {words} WHERE role = $1 AND folded >= $2 AND folded < $3{condition} "
            f"UNION ALL SELECT unnest($5::bigint[])) w (id) CROSS JOIN LATERAL "
            f"(SELECT scope FROM {hits} h WHERE h.word = w.id AND h.state = $4) h LIMIT $6) counted"
        )


def _escaped(text: str) -> str:
    r"""Return a text as part of a pattern of ``LIKE``, in which no sign has a meaning.

    >>> _escaped("50%_a")
    '50\\%\\_a'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
