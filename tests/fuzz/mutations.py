"""Mutations that keep to a language's structure: of JSON by its tree, of Protobuf by its words.

Bytes changed at random are no schema most of the time; these often are. Half of the mutations stay libFuzzer's own.
"""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from targets import PART

from strategies.avro.codec_outcomes import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_WORD: Final = re.compile(r'\s+|\w+|"[^"\n]*"|.', re.DOTALL)
_WORDS_BY_LANGUAGE: Final[Mapping[str, Sequence[str]]] = {
    path.stem: path.read_text(encoding="utf-8").splitlines()
    for path in sorted(Path(__file__).with_name("words").glob("*.txt"))
}
_VALUES: Final = (None, True, False, 0, -1, 1, 2**31, 2**63, 1e400, 0.1, -0.0, "", "A", "\ud800", [], {}, [[]], [{}])


def mutate(language: str, kind: str, data: bytes, *, seed: int) -> bytes:
    """``data`` with a few changes to one of its parts; the same for the same seed."""
    random = Random(seed)
    if kind == "decode":
        return damaged(random, data)
    parts = data.split(PART)
    chosen = random.randrange(len(parts))
    text = parts[chosen].decode("utf-8", "replace")
    mutation = _MUTATION_BY_LANGUAGE[language]
    parts[chosen] = mutation(random, text, _WORDS_BY_LANGUAGE[language]).encode("utf-8", "surrogatepass")
    if random.random() < 0.1:
        parts[random.randrange(len(parts))] = parts[chosen]
    return PART.join(parts)


def _mutate_words(random: Random, text: str, words: Sequence[str]) -> str:
    """Take away, double, swap or replace words, lines and spaces among them."""
    found: list[str] = _WORD.findall(text) or [random.choice(words)]
    for _ in range(random.choice((1, 1, 2, 4))):
        at, other = random.randrange(len(found)), random.randrange(len(found))
        match random.randrange(5):
            case 0 if len(found) > 1:
                del found[at]
            case 1:
                start, end = sorted((at, other))
                found[at:at] = found[start : min(end, start + 12)]
            case 2:
                found[at], found[other] = found[other], found[at]
            case 3:
                found.insert(at, f" {random.choice(words)} ")
            case _:
                found[at] = random.choice(words)
    return "".join(found)


def _mutate_tree(random: Random, text: str, words: Sequence[str]) -> str:
    """Take away, double, swap or replace values and keys; text that is no JSON is mutated word by word."""
    try:
        tree = [json.loads(text)]
        for _ in range(random.choice((1, 1, 2, 4))):
            _change(random, tree, words)
        return json.dumps(tree[0])
    except (ValueError, RecursionError):
        return _mutate_words(random, text, ["{", "}", "[", "]", ",", ":", '"', *(f'"{word}"' for word in words)])


def _change(random: Random, tree: list[Any], words: Sequence[str]) -> None:
    places = list(_places(tree))
    container, key = random.choice(places)
    new = copy.deepcopy(random.choice((*_VALUES, random.choice(words))))
    match random.randrange(6):
        case 0 if container is not tree:
            del container[key]
        case 1:
            other, at = random.choice(places)
            container[key] = copy.deepcopy(other[at])
        case 2 if isinstance(container, dict):
            container[random.choice(words)] = container.pop(key)
        case 3 if isinstance(container[key], dict):
            container[key][random.choice(words)] = new
        case 4 if isinstance(container[key], list):
            container[key].append(new)
        case _:
            container[key] = new


def _places(container: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(container) if isinstance(container, dict) else range(len(container)):
        yield container, key
        if isinstance(container[key], dict | list):
            yield from _places(container[key])


_MUTATION_BY_LANGUAGE: Final[Mapping[str, Callable[[Random, str, Sequence[str]], str]]] = {
    "avro": _mutate_tree,
    "json": _mutate_tree,
    "protobuf": _mutate_words,
}
