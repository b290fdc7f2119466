"""What the registry raises besides the API's own errors.

::

    CounterfoilError
    ├── RegistryError …     (counterfoil.schema.errors) what the REST API answers
    ├── StaleWrite          a plan was overtaken; plan again
    └── StoreNotUsable      the server cannot start on this store
"""

from __future__ import annotations

from counterfoil.schema.errors import CounterfoilError


class StaleWrite(CounterfoilError):
    """What a write was planned on has changed since; the plan was not carried out and must be made again."""


class StoreNotUsable(CounterfoilError):
    """The store in the settings cannot be used; the message names it and says what would be right."""
