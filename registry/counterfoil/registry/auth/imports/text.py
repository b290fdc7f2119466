"""The text of an access file that is made of what was imported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.@/-]*(:[A-Za-z0-9_.@/-]+)?")
_OTHER_MEANINGS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


class ImportRefused(CounterfoilError):
    """What is imported has entries that cannot be translated exactly: nothing is printed before they are changed."""

    exit_code = ExitCode.PRECONDITION

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        super().__init__(f"{path} cannot be imported: {'; '.join(problems)}")
        self.path = path
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """A rule: the effect is ``allow`` or ``deny``, the operations are their names or one role."""

    effect: str
    operations: tuple[str, ...]
    principal: str
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedAccess:
    """What was imported. ``notes`` say what was left out or has another meaning here."""

    users: Mapping[str, str | Mapping[str, str]]
    rules: Sequence[ImportedRule]
    notes: Sequence[str]

    @property
    def text(self) -> str:
        """The access file."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield "# Read this before use: it was made from the rules of another system, and nothing is applied yet."
        for note in self.notes:
            yield f"# - {note}"
        yield "admins: []   # the principals that may do everything, such as User:alice"
        if self.users:
            yield "users:"
        for name, given in self.users.items():
            yield f"  {scalar(name)}: {scalar(given) if isinstance(given, str) else _mapping(given)}"
        if self.rules:
            yield "rules:"
        for rule in dict.fromkeys(self.rules):
            to, on = scalar(rule.principal), _one_or_more(rule.resources)
            yield f"  - {{{rule.effect}: {_one_or_more(rule.operations)}, to: {to}, on: {on}}}"


def scalar(text: str) -> str:
    """Return a text as YAML writes it: plain where it has only this meaning, else in quotes.

    >>> scalar("User:alice"), scalar("pay.*"), scalar("no")
    ('User:alice', '"pay.*"', '"no"')
    """
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _OTHER_MEANINGS
    return text if is_plain else f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _one_or_more(texts: Sequence[str]) -> str:
    return scalar(texts[0]) if len(texts) == 1 else f"[{', '.join(map(scalar, texts))}]"


def _mapping(given: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{key}: {scalar(value)}' for key, value in given.items())}}}"
