"""The call of a serializer or deserializer, which the accelerator takes over for messages that have a short way.

A message has a short way if it needs nothing of its plan but an encoder or a decoder. The method ``__call__`` in Python
defines what a call does, also by a short way. Where the accelerator is installed, an object gets a call of its own as
soon as it has a short way: it does the same for these messages, and calls the method for all others and after errors.
"""

from __future__ import annotations

from functools import update_wrapper
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from counterfoil.sdk.serde.codec import Decode, Encode

F = TypeVar("F", bound="Callable[..., Any]")
K = TypeVar("K")
V = TypeVar("V")

_CALL: Final = "_call"
_CAPACITY: Final = 1000
"""How many short ways an object keeps at most."""

_MAX_WAYS: Final = 64
"""How many short ways the accelerator's call has at most, since it searches them; later ones are found in Python."""


class _Replaceable(property):
    """A method that is the object's attribute ``_call``, if it has one, else the function of the class.

    Python looks ``__call__`` up in the class alone, so that a property returns it; it takes no bytecode.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(attrgetter(_CALL))
        self._function = function
        update_wrapper(self, function)

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, _CALL, self._function)

    def __call__(self, serde: Any, *arguments: Any, **options: Any) -> Any:
        """Call the method as a function of its class."""
        return getattr(serde, _CALL)(*arguments, **options)


def replaceable(function: F) -> F:
    """Return ``function``, the method ``__call__``, as one that :func:`use_short_ways` can replace."""
    method: Any = _Replaceable(function)
    return method  # type: ignore[no-any-return]  # it is called like the function


def with_entry(ways: Mapping[K, V], key: K, way: V) -> dict[K, V]:
    """Return the table with one more short way; a full one is begun anew."""
    return {**(ways if len(ways) < _CAPACITY else {}), key: way}


def use_serializer_call(serde: Any, ways: Mapping[tuple[str | None, str], tuple[Encode, bytes]]) -> None:
    """Let the accelerator, if there is one, call its own encoders in ``ways``, which are by topic and field."""
    accelerator = _accelerator_for(ways)
    own = [(*place, *way) for place, way in ways.items() if _is_of(accelerator, way[0])]
    if accelerator is not None and own:
        setattr(serde, _CALL, accelerator.SerializerCall(own, _defined(serde)))


def use_deserializer_call(serde: Any, ways: Mapping[bytes, Decode], prefix_size: int) -> None:
    """Let the accelerator, if there is one, call its own decoders in ``ways``, which are by prefix."""
    accelerator = _accelerator_for(ways)
    own = [way for way in ways.items() if _is_of(accelerator, way[1])]
    if accelerator is not None and own:
        setattr(serde, _CALL, accelerator.DeserializerCall(own, prefix_size, _defined(serde)))


def use_defined_call(serde: Any) -> None:
    """Let the method handle every message."""
    vars(serde).pop(_CALL, None)


def _accelerator_for(ways: Mapping[Any, Any]) -> ModuleType | None:
    """Return the accelerator; None without one, and for more ways than it searches."""
    from counterfoil.sdk.serde.tier import find_accelerator

    return find_accelerator() if len(ways) <= _MAX_WAYS else None


def _is_of(accelerator: ModuleType | None, function: Any) -> bool:
    """Return whether a function is a method of the accelerator.

    Any other one may do more than encode or decode, such as count messages or send requests, and must run once.
    """
    return accelerator is not None and type(getattr(function, "__self__", None)).__module__ == accelerator.__name__


def _defined(serde: Any) -> Callable[..., Any]:
    return MethodType(getattr(type(serde), _CALL), serde)
