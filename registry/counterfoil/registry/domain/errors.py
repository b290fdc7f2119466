"""The errors of the registry, besides those of the API.

::

    CounterfoilError
    ├── RegistryError …     (counterfoil.schema.errors) an error response of the REST API
    ├── StaleWrite          the data has changed in the meantime; repeat
    └── StoreNotUsable      the server cannot start on this store
"""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError


class StaleWrite(CounterfoilError):
    """Data has changed since it was read, so that a write was refused, or a response cannot be completed; repeat."""


class StoreNotUsable(CounterfoilError):
    """The store in the settings cannot be used; the message names it and what would be right."""
