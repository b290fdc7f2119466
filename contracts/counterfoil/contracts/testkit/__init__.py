"""For the tests of producers and consumers: values of contracts, records of topics, and assertions.

pytest has fixtures besides, see :mod:`counterfoil.contracts.testkit.pytest_plugin`. Nothing is imported before it is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.late_modules import late_names

if TYPE_CHECKING:
    from counterfoil.contracts.testkit.entry import assert_produces, from_contract, from_schema
    from counterfoil.contracts.testkit.producing import BrokenPromise, ContractWarning
    from counterfoil.contracts.testkit.stream import Stream, StreamRecord


__all__ = [
    "BrokenPromise",
    "ContractWarning",
    "Stream",
    "StreamRecord",
    "assert_produces",
    "from_contract",
    "from_schema",
]

__getattr__, __dir__ = late_names(
    globals(),
    {
        "BrokenPromise": "contracts.testkit.producing",
        "ContractWarning": "contracts.testkit.producing",
        "Stream": "contracts.testkit.stream",
        "StreamRecord": "contracts.testkit.stream",
        "assert_produces": "contracts.testkit.entry",
        "from_contract": "contracts.testkit.entry",
        "from_schema": "contracts.testkit.entry",
    },
)
