"""Encryption and decryption of JSON values whose schema says by a text which of its parts describe a value.

A ciphertext may fit another branch than the text that was encrypted. Writing decides by the texts of the program;
reading decrypts first what any branch marks, and then decides by the decrypted texts which values had to be encrypted.
Of several rules, each decides by the texts as they were before any of them encrypted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.marks import ABOUT_EVERY_TEXT, inside, written
from counterfoil.sdk.errors import EncryptionError
from counterfoil.sdk.serde.json_codec.applicable import Fitting
from counterfoil.sdk.serde.json_codec.confluent_reading import ConfluentReader
from counterfoil.sdk.serde.json_codec.deciding import DecidedText, Deciding, decided, decider
from counterfoil.sdk.serde.json_codec.layers import LayeredText, SealedPlace, replaced, settle
from counterfoil.sdk.serde.json_codec.layers import written as as_written
from counterfoil.sdk.serde.json_codec.rule_walk import Everything, RuleWalk, typed
from counterfoil.sdk.serde.rules.protocol import FieldType, OpenedText
from counterfoil.sdk.serde.rules.values import Before

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from counterfoil.schema.formats.jsonschema.marks import Described
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema
    from counterfoil.schema.marks import Mark
    from counterfoil.sdk.serde.json_codec.rule_walk import RuleFields
    from counterfoil.sdk.serde.rules.protocol import Change

_ALWAYS: Final = ("if", "contains", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems")
_UNFIT: Final = "under a branch that a ciphertext does not fit, in"
_OTHER_SCALARS: Final = ("null", "integer", "number", "boolean")


def is_decided_by_texts(root: Schema) -> bool:
    """Return whether a text in a value may decide which parts of a schema describe the value, or how many of them."""
    waiting, seen = [root], {root}
    while waiting:
        each = waiting.pop()
        if _is_choice(each):
            return True
        more = [one for one in inside(each) if one not in seen]
        seen.update(more)
        waiting += more
    return False


def _is_choice(schema: Schema) -> bool:
    keywords = written(schema)
    if any(word in keywords for word in _ALWAYS):
        return True
    types = keywords.get("type")
    if isinstance(types, list) and len(types) > 1 and not keywords.keys() <= ABOUT_EVERY_TEXT:
        return True
    lists = [keywords[word] for word in ("allOf", "anyOf", "oneOf") if isinstance(keywords.get(word), list)]
    if len(lists) > 1:
        return True
    branches = lists[0] if lists else []
    others = [each for each in branches if not _is_other_scalar(each)]
    if len(others) > 1:
        return True
    return bool(others) and "allOf" not in keywords and not _is_any_text(others[0])


def _is_other_scalar(branch: Any) -> bool:
    return isinstance(branch, dict) and branch.get("type") in _OTHER_SCALARS and "$ref" not in branch


def _is_any_text(branch: Any) -> bool:
    return isinstance(branch, dict) and branch.get("type") == "string" and branch.keys() <= ABOUT_EVERY_TEXT


class Encryption:
    """Encrypts the marked texts of values, each as often as readers of Confluent's decrypt it.

    A text that they cannot decrypt counts as one at a place where they do not look.
    """

    def __init__(self, fields: RuleFields, root: WrittenSchema, dump: Callable[[Any], Any]) -> None:
        self._fields = fields
        self._root = root
        self._dump = dump

    def __call__(self, message: Any) -> Any:
        """Return an encrypted copy of a message."""
        return self.after(message, Before(message))

    def after(self, message: Any, before: Before) -> Any:
        """Return an encrypted copy of a message; its branches are those of the message before other rules ran.

        What the message marks that the stage received is encrypted, and what it marks after the rules that changed it,
        but before those that encrypted.
        """
        fields = self._fields
        is_first = message is before.message
        walk = _Sealing(fields, Fitting() if is_first else Deciding(0, 1), self._dump)
        value = message if is_first else self._decided(message, before)
        sealed = walk.changed([(self._root, fields.marks.at_root(self._root))], value, None)
        if not is_first:
            sealed = replaced(sealed, lambda text: text if isinstance(text, LayeredText) else str(text), str)
        reader = ConfluentReader(self._root, fields.marks.tags, fields.tags)
        for place in settle(sealed, walk.found, reader):
            if place.mark is not None:
                walk.refuse_beyond(place.mark)
        for place in walk.found:
            plain = str(place.text(0))
            before.plain[str(place.text(place.count))] = before.plain.get(plain, plain)
        return as_written(sealed) if walk.found else sealed

    def _decided(self, message: Any, before: Before) -> Any:
        plain = replaced(message, lambda text: before.plain.get(text, text), str)
        return decided(message, (plain, before.message), self._dump)


class _Sealing(RuleWalk):
    """The walk that encrypts each marked text once; ``found`` are their places."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.found: list[SealedPlace] = []

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        """Return a scalar; a text that is encrypted knows its place."""
        known: list[tuple[Mark, Change]] = []
        beyond: list[Change] = []
        for each in described:
            mark, field_type = typed(each, value)
            change = self.rule_fields.of(mark, field_type)
            if change is not None and mark.is_reached(self.rule_fields.tags):
                known.append((mark, change))
            elif change is not None:
                beyond.append(change)
        first, change = known[0] if known else (None, beyond[0] if beyond else None)
        if change is None:
            return value
        if not isinstance(value, str):
            return change(value, message)
        run: Change = change
        place = SealedPlace(value, lambda text: str(run(text, message)), first)
        self.found.append(place)
        return place.text(1)

    def refuse_beyond(self, mark: Mark) -> None:
        """Raise what the rule raises for a text where Confluent's clients do not look, if it refuses that."""
        change = self.rule_fields.of(mark.beyond(), FieldType.STRING, where=_UNFIT)
        if change is not None:
            change("", None)


class Decryption:
    """Decrypts the texts of values that any part of a schema marks.

    ``fields_of_all`` are the fields of all rules that decrypt messages of the schema, in the order in which they run;
    rules are added to it after this one was made.
    """

    def __init__(
        self,
        fields: RuleFields,
        root: WrittenSchema,
        dump: Callable[[Any], Any],
        fields_of_all: list[RuleFields],
    ) -> None:
        self._fields = fields
        self._root = root
        self._dump = dump
        self._fields_of_all = fields_of_all

    def __call__(self, message: Any) -> Any:
        """Return a decrypted copy of a message; raise what the rule raises for a text that had to be encrypted."""
        return self.after(message, Before(message))

    def after(self, message: Any, before: Before) -> Any:
        """Return a decrypted copy of a message that other rules have decrypted in part, or will.

        Which texts had to be encrypted is decided by the message that all rules together decrypt. A text that only it
        marks is one of a place that Confluent's clients do not reach: they decide by what is decrypted so far.
        """
        opened = self._opened(self._fields, message)
        described = [(self._root, self._fields.marks.at_root(self._root))]
        is_alone = self._fields_of_all in ([], [self._fields])
        if is_alone and message is before.message:
            checked = _Checking(self._fields, Fitting(), self._dump).changed(described, opened, None)
            return replaced(checked, str, OpenedText)
        if before.decrypted is None:
            before.decrypted = self._decrypted(before.message)
        value = decided(opened, (before.decrypted, opened), self._dump)
        noting = _Noting(self._fields, Deciding(1), self._dump)
        noting.changed(described, value, None)
        checking = _CheckingLast(self._fields, Deciding(0), self._dump)
        checking.known = noting.found
        return replaced(checking.changed(described, value, None), str, str)

    def _opened(self, fields: RuleFields, message: Any) -> Any:
        described = [(self._root, fields.marks.at_root(self._root))]
        return _Opening(fields, Everything(), self._dump).changed(described, message, None)

    def _decrypted(self, message: Any) -> Any:
        """Return a message that all rules have decrypted; what one cannot decrypt stays as it is."""
        for fields in self._fields_of_all:
            try:
                message = self._opened(fields, message)
            except EncryptionError:
                continue  # the rule itself will fail, and act as its schema says
        return message


class _Opening(RuleWalk):
    """The walk that decrypts every text that may be marked and is a ciphertext."""

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        """Return the decrypted text."""
        if not isinstance(value, str):
            return value
        for each in described:
            change = self.rule_fields.of(each.mark, FieldType.STRING, is_possible=True)
            value = value if change is None or isinstance(value, OpenedText) else change(value, message)
        return value


class _Checking(RuleWalk):
    """The walk that applies the rule to marked texts that are not decrypted yet: there should be none."""

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        """Return a scalar."""
        return value if isinstance(value, OpenedText) else super().scalar(described, value, message)


class _Noting(RuleWalk):
    """The walk that changes nothing, and notes the texts that the rule would change; ``found`` are their ids."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.found: set[int] = set()

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        """Return the scalar as it is."""
        del message
        for each in described:
            mark, field_type = typed(each, value)
            if isinstance(value, DecidedText) and self.rule_fields.of(mark, field_type) is not None:
                self.found.add(id(value))
        return value


class _CheckingLast(RuleWalk):
    """The walk that applies the rule to marked texts that no rule decrypts: there should be none.

    ``known`` are the ids of the texts that are marked as well if ciphertexts of other rules decide.
    """

    known: AbstractSet[int] = frozenset()

    def scalar(self, described: Sequence[Described], value: Any, message: Any) -> Any:
        """Return a scalar."""
        if not isinstance(value, DecidedText):
            return super().scalar(described, value, message)
        last, now = decider(value, 0), decider(value, 1)
        if isinstance(now, OpenedText) or (isinstance(last, OpenedText) and str(last) == str(value)):
            return value
        if id(value) not in self.known:
            described = [replace(each, mark=each.mark.beyond()) for each in described]
        return super().scalar(described, str(value), message)
