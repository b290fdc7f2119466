"""What the registry raises besides the API's own errors.

::

    CounterfoilError
    ├── RegistryError …     (counterfoil.schema.errors) what the REST API answers
    ├── StaleWrite          a write came in between; begin again
    └── StoreNotUsable      the server cannot start on this store
"""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError


class StaleWrite(CounterfoilError):
    """What was read has changed since: a write was not carried out, an answer cannot be put together; begin again."""


class StoreNotUsable(CounterfoilError):
    """The store in the settings cannot be used; the message names it and says what would be right."""
