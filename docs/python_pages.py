"""The page about the names of the Python API, made of signatures and docstrings."""

from __future__ import annotations

import inspect
import re
import types
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

ADAPTERS = (
    "aiokafka",
    "beavers",
    "bytewax",
    "confluent_kafka",
    "faststream",
    "faust",
    "kafka_python",
    "pyspark",
    "spark_usage",
)
"""All but that of Quix Streams, whose version of confluent-kafka is not installed beside the others."""
MODULES = (
    "counterfoil.sdk",
    "counterfoil.sdk.confluent",
    "counterfoil.sdk.testing",
    "counterfoil.sdk.testing.pytest_plugin",
    *(f"counterfoil.sdk.adapters.{name}" for name in ADAPTERS),
)
_ROLE = re.compile(r":(?:class|meth|func|data|mod|attr):`[~.]?([^`]+)`")


def python_page() -> str:
    """Return the page of every public name, with what ``help()`` prints about it."""
    lines = [
        "# Python API",
        "",
        "The public names of the SDK. [Serializers](../serializers.md), [Reaching a",
        "registry](../reaching-a-registry.md) and [Testing your program](../testing-your-program.md) explain how they",
        "are used. A class also has the methods of the classes that it is made of, which are named with it.",
    ]
    for name in MODULES:
        module = import_module(name)
        lines += ["", f"## `{name}`", "", *_text(module.__doc__)]
        for public in _public(module):
            lines += _entry(public, getattr(module, public))
    return "\n".join(lines)


def _place_of(kind: type) -> str:
    """Return the name of a class, with its module where two classes have the name."""
    is_alone = sum(one.__name__ == kind.__name__ for one in _documented()) == 1
    return (
        kind.__name__
        if is_alone
        else f"{next(one for one in MODULES if hasattr(import_module(one), kind.__name__))}.{kind.__name__}"
    )


@cache
def _documented() -> frozenset[type]:
    """Return the classes that have a section."""
    modules = map(import_module, MODULES)
    values = (getattr(module, name) for module in modules for name in _public(module))
    return frozenset(value for value in values if inspect.isclass(value))


def _public(module: Any) -> list[str]:
    named = getattr(module, "__all__", None)
    if named is not None:
        return sorted(named, key=str.lower)
    own = (
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not isinstance(value, TypeVar)
    )
    return sorted((name for name in own if not name.startswith("_")), key=str.lower)


def _entry(name: str, value: Any) -> list[str]:
    """Return the section of a name: a class with its methods, a function, or a constant."""
    if inspect.isclass(value):
        lines = ["", f"### `{name}`", "", *_signature(f"class {name}", value), *_text(inspect.getdoc(value))]
        if bases := ", ".join(f"`{_place_of(base)}`" for base in value.__mro__[1:] if base in _documented()):
            lines += ["", f"Its bases: {bases}."]
        if issubclass(value, Exception | Enum):
            return lines
        for method in sorted(_methods(value)):
            lines += ["", f"#### `{name}.{method}`", "", *_member(method, inspect.getattr_static(value, method), value)]
        return lines
    wrapped = getattr(value, "_get_wrapped_function", None)  # a fixture of pytest
    found = wrapped() if wrapped is not None else value
    return [
        "",
        f"### `{name}`",
        "",
        *_signature(name, found),
        *_text(inspect.getdoc(found) if callable(found) else None),
    ]


def _methods(kind: type) -> set[str]:
    """Return the public methods and properties of a class, except those of bases that the page describes."""
    own = (base for base in kind.__mro__ if base.__module__.startswith("counterfoil."))
    described = [base for base in kind.__mro__[1:] if base in _documented()]
    kinds = types.FunctionType | property | classmethod | staticmethod
    names = {name for base in own for name, value in vars(base).items() if isinstance(value, kinds)}
    public = {name for name in names if not name.startswith("_")} | ({"__call__"} & names)
    return {name for name in public if name in vars(kind) or not any(hasattr(base, name) for base in described)}


def _member(name: str, static: Any, kind: type) -> list[str]:
    if isinstance(static, property) and not callable(static):
        return _text(inspect.getdoc(static))
    return [*_signature(name, getattr(kind, name)), *_text(inspect.getdoc(getattr(kind, name)))]


def _signature(name: str, value: Any) -> list[str]:
    if not callable(value):
        return [f"`{value!r}`"]
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return []
    parameters = [_plain(one) for one in signature.parameters.values() if one.name != "self"]
    shown = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    returned = "" if inspect.isclass(value) else _returned(signature.return_annotation)
    text = f"{name}{shown}{returned}"
    if len(text) > 100 and parameters:  # noqa: PLR2004 (columns)
        inside = shown[1:-1]
        text = f"{name}(\n{_one_each_line(inside)}\n){returned}"
    return ["```python", text, "```", ""]


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose default is printed in the same way in every run."""
    default = parameter.default
    if callable(default) and default is not inspect.Parameter.empty:
        default = _Shown(getattr(default, "__name__", type(default).__name__))
    elif isinstance(default, Enum):
        default = _Shown(str(default))
    elif type(default).__repr__ is object.__repr__:  # it has the address
        default = _Shown(f"{type(default).__name__}()")
    return parameter.replace(default=default, annotation=_annotation(parameter.annotation))


class _Shown:
    """An object whose ``repr`` is a given text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _annotation(found: Any) -> Any:
    return found if found is inspect.Parameter.empty else _Shown(found if isinstance(found, str) else repr(found))


def _returned(found: Any) -> str:
    return "" if found is inspect.Signature.empty else f" -> {found if isinstance(found, str) else repr(found)}"


def _one_each_line(inside: str) -> str:
    parts: list[str] = [""]
    depth = 0
    for sign in inside:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return "\n".join(f"    {part.strip()}," for part in parts)


def _text(doc: str | None) -> list[str]:
    """Return a docstring as Markdown: examples and tables in blocks of code."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(doc or "").split("\n\n"):
        plain = _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", paragraph).replace("``", "`")
        if plain.startswith((">>>", "====")):
            lines += ["```pycon" if plain.startswith(">>>") else "```text", paragraph, "```", ""]
        elif plain and plain != "::":
            lines += [plain, ""]
    return lines[:-1]
