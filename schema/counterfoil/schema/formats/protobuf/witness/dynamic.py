"""Types of messages whose classes are created at run time, which type checkers cannot check."""

from __future__ import annotations

from typing import Any, TypeAlias

AnyMessage: TypeAlias = Any
"""A message of a class that was created at run time: its attributes are the fields of a schema."""
AnyDescriptor: TypeAlias = Any
"""The descriptor of such a message, in the class that the runtime uses."""
AnyField: TypeAlias = Any
"""The descriptor of a field of such a message."""
