"""Messages of classes that are made at run time, which type checkers cannot know."""

from __future__ import annotations

from typing import Any, TypeAlias

AnyMessage: TypeAlias = Any
"""A message of a class that was made at run time: its attributes are the fields of a schema."""
AnyDescriptor: TypeAlias = Any
"""The descriptor of such a message, of the runtime's own kind."""
AnyField: TypeAlias = Any
"""The descriptor of a field of such a message."""
