"""The assertion that a program's record keeps the promises of a contract."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.testing.record import PromiseViolation, RecordParts, shown_value
from counterfoil.contracts.testkit.session import ContractSession
from counterfoil.schema.datum import Datum
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import EncodeError, SerdeError, ValidationError
from counterfoil.sdk.serde.multi import LANGUAGES

if TYPE_CHECKING:
    from counterfoil.contracts.generate.examples import Examples
    from counterfoil.contracts.generate.library import FoundContract


UNKNOWN: Final = ...
"""Stands for a key or headers that are not checked."""


class BrokenPromise(AssertionError):
    """A record that does not keep a contract; ``violations`` has each promise that is broken."""

    def __init__(self, message: str, violations: tuple[PromiseViolation, ...]) -> None:
        super().__init__(message)
        self.violations = violations


class ContractWarning(UserWarning):
    """A promise that is not kept, and that is only a warning in the contract."""


def check_record(found: FoundContract, value: Datum, *, key: Datum = UNKNOWN, headers: Datum = UNKNOWN) -> None:
    """Raise ``BrokenPromise`` if a record does not keep the contract, and warn of what the contract only warns of."""
    broken: list[PromiseViolation] = []
    plain = _written(found.examples, value, "", broken)
    plain_key = None if key is UNKNOWN else _plain_key(found, key, broken)
    if not broken:
        parts = RecordParts(plain, plain_key, None if headers is UNKNOWN else _texts(headers), key is not UNKNOWN)
        broken = found.check.violations(parts)
    for each in broken:
        if each.is_warning:
            warnings.warn(f"{found.path}: {each}", ContractWarning, stacklevel=3)
    errors = tuple(each for each in broken if not each.is_warning)
    if errors:
        lines = "".join(f"\n  {each}" for each in errors)
        raise BrokenPromise(f"The record does not keep {found.path} ({found.topic}):{lines}", errors)


def assert_produces_of(session: ContractSession, contract: FoundContract | str, value: object, **parts: object) -> None:
    """Check a record against a contract, or the one with this name."""
    found = session.library().find(contract) if isinstance(contract, str) else contract
    check_record(found, value, **parts)


def _written(examples: Examples, value: object, place: str, broken: list[PromiseViolation]) -> Datum:
    """Return a value as deserializers return it once it was written; a misfit is added to ``broken``."""
    try:
        data = _message(examples, value)
    except ValidationError as error:
        broken += [PromiseViolation(_at(place, each.path), "schema", None, each.message) for each in error.violations]
        if not error.violations:
            broken.append(PromiseViolation(place, "schema", value, error.problem))
        return None
    except EncodeError as error:
        problem = error.problem if error.expected is None else f"expected {error.expected}; got {error.got}"
        broken.append(PromiseViolation(_at(place, error.path or ""), "schema", error.got, problem))
        return None
    except SerdeError as error:
        broken.append(PromiseViolation(place, "schema", value, error.problem))
        return None
    return examples.decode(data)


def _message(examples: Examples, value: object) -> bytes:
    """Return the message of a value of any kind that serializers take: a dict, a model's object, a message."""
    language = examples.schema.schema_type
    options: dict[str, Datum] = {"strict": True} if language is SchemaType.AVRO else {}
    if hasattr(value, "DESCRIPTOR"):
        options["classes"] = (type(value),)
    elif _is_model(value):
        if language is SchemaType.AVRO:
            from counterfoil.sdk.serde.models.binding import AvroModel

            options["model"] = AvroModel(type(value))
        elif language is SchemaType.JSON:
            options["model"] = type(value)
        else:
            from counterfoil.sdk.serde.models.binding import ModelConverter

            value = ModelConverter(type(value)).to_dict(value)
    if language is SchemaType.PROTOBUF and "classes" not in options:
        options |= {"as_dict": True} | ({} if examples.message is None else {"message": examples.message})
    return examples.encode_with(LANGUAGES[language].make_codec(**options), value)


def _is_model(value: object) -> bool:
    from counterfoil.sdk.serde.models.description import kind_of

    return not isinstance(value, Mapping) and kind_of(type(value)) is not None


def _plain_key(found: FoundContract, key: object, broken: list[PromiseViolation]) -> Datum:
    if found.key_examples is not None:
        return _written(found.key_examples, key, "$key", broken)
    if isinstance(key, bytes):
        try:
            return key.decode()
        except UnicodeDecodeError:
            broken.append(PromiseViolation("$key", "schema", key, f"{shown_value(key)} is no UTF-8 text"))
    return key


def _texts(headers: Mapping[str, object] | Iterable[tuple[str, object]]) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return {name: text.decode(errors="replace") if isinstance(text, bytes) else str(text) for name, text in pairs}


def _at(place: str, path: str) -> str:
    if not place or not path:
        return place or path
    return f"{place}{path}" if path.startswith("[") else f"{place}.{path}"
