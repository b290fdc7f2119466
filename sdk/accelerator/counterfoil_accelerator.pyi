# The meaning of each class and parameter is in src/.

from collections.abc import Callable
from typing import Any, Final, final

INTERFACE: Final[int]

@final
class Decoder:
    def __new__(
        cls,
        nodes: list[tuple[Any, ...]],
        root: int,
        *,
        whole: bool,
        max_empty_items: int,
        max_weight: int,
        fallback: Callable[..., Any],
    ) -> Decoder: ...
    def decode(self, data: bytes, offset: int = 0, /) -> Any: ...

@final
class Encoder:
    def __new__(cls, nodes: list[tuple[Any, ...]], root: int, *, fallback: Callable[..., Any]) -> Encoder: ...
    def encode(self, value: object, prefix: bytes = b"", /) -> bytes: ...

@final
class Columns:
    def __new__(cls, decoder: Decoder, layout: tuple[Any, ...]) -> Columns: ...
    @property
    def rows(self) -> int: ...
    def extend(self, messages: list[Any], start: int, prefix: bytes, /) -> int: ...
    def append_null(self) -> None: ...
    def take(self) -> Any: ...

@final
class JsonEncoder:
    def __new__(
        cls, dumps: Callable[..., bytes], default: Callable[[Any], Any], fallback: Callable[..., bytes]
    ) -> JsonEncoder: ...
    def encode(self, value: object, prefix: bytes, /) -> bytes: ...

@final
class JsonDecoder:
    def __new__(cls, loads: Callable[[bytes], Any], fallback: Callable[..., Any]) -> JsonDecoder: ...
    def decode(self, data: bytes, offset: int, /) -> Any: ...

@final
class SerializerCall:
    def __new__(
        cls,
        ways: list[tuple[str | None, str, Callable[[Any, bytes], bytes], bytes]],
        definition: Callable[..., Any],
    ) -> SerializerCall: ...
    def __call__(self, value: object, ctx: object = None) -> Any: ...

@final
class DeserializerCall:
    def __new__(
        cls, ways: list[tuple[bytes, Callable[[bytes, int], Any]]], prefix_size: int, definition: Callable[..., Any]
    ) -> DeserializerCall: ...
    def __call__(self, data: object, ctx: object = None) -> Any: ...
