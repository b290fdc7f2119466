"""Texts of a JSON value that are encrypted once or several times, so that readers of Confluent's can decrypt them.

Confluent's readers decide which branches of ``anyOf`` describe a value while they decrypt it, so that one text may be
decrypted by none of the branches or by several. A text is therefore encrypted as often as they decrypt it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.marks import Mark

MOST_LAYERS: Final = 8
"""How often one text is encrypted at most."""


class SealedPlace:
    """A place of one value whose text is encrypted.

    ``mark`` is that of the place if Confluent's clients find the tag there; None otherwise. ``count`` is how often the
    text is encrypted, and ``reads`` how often a reader has decrypted it, or has tried to.
    """

    def __init__(self, plain: str, encrypt: Callable[[str], str], mark: Mark | None) -> None:
        self.mark = mark
        self.count = 1
        self.reads = 0
        self._encrypt = encrypt
        self._texts = [plain]
        self.text(1)  # whatever encryption raises is raised while the value is walked

    @property
    def is_readable(self) -> bool:
        """Whether the reader has decrypted the text as often as it was encrypted."""
        return self.mark is None or self.reads == self.count

    def text(self, layers: int) -> LayeredText:
        """Return the text, encrypted so many times."""
        while len(self._texts) <= layers:
            self._texts.append(self._encrypt(self._texts[-1]))
        found = LayeredText(self._texts[layers])
        found.place, found.layers = self, layers
        return found


class LayeredText(str):
    """A text of a value that is encrypted ``layers`` times."""

    __slots__ = ("layers", "place")

    layers: int
    place: SealedPlace


class Reader(Protocol):
    """Decrypts the texts of a value as another program would, and counts that in their places."""

    def read(self, value: Any) -> None:
        """Read a value; each place counts in ``reads`` how often it is decrypted."""


def settle(value: Any, found: Sequence[SealedPlace], reader: Reader) -> list[SealedPlace]:
    """Choose how often each text is encrypted; return the places whose ciphertext the reader would return as data.

    A text that it cannot decrypt is encrypted once.
    """
    unreadable = _read(value, found, reader)
    for _ in range(MOST_LAYERS):
        counts = [min(max(1, place.reads), MOST_LAYERS) for place in unreadable]
        if counts == [place.count for place in unreadable]:
            break
        for place, count in zip(unreadable, counts, strict=True):
            place.count = count
        unreadable = _read(value, found, reader)
    for place in unreadable:
        place.count = 1
    unreadable = _read(value, found, reader) if unreadable else []
    return [place for place in unreadable if not place.reads]


def _read(value: Any, found: Sequence[SealedPlace], reader: Reader) -> list[SealedPlace]:
    """Let the reader read the value; return the places that it did not decrypt as often as they are encrypted."""
    for place in found:
        place.reads = 0
    if any(place.mark is not None for place in found):
        reader.read(replaced(value, lambda text: text.place.text(text.place.count)))
    return [place for place in found if not place.is_readable]


def written(value: Any) -> Any:
    """Return the value with the encrypted texts as they are written."""
    return replaced(value, lambda text: str(text.place.text(text.place.count)))


def replaced(value: Any, change: Callable[[Any], str], kind: type[str] = LayeredText) -> Any:
    """Return a copy of a value in which the texts of the class ``kind`` are changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, dict):
        return {name: replaced(item, change, kind) for name, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, change, kind) for item in value]
    return value
