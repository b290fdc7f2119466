"""The taxi rides of July 2020 as records: the file's rows, in the words of schema version 1 and of version 2.

Source of the data: rides.csv, yellow-taxi trip records of New York's Taxi and Limousine Commission (TLC), as published;
the payment codes are those of the TLC's data dictionary.
"""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent

PAYMENT_BY_CODE = {
    1: ("CARD", "PAID"),
    2: ("CASH", "PAID"),
    3: ("NONE", "NO_CHARGE"),
    4: ("NONE", "DISPUTE"),
    5: ("NONE", "UNKNOWN"),
    6: ("NONE", "VOIDED"),
}

TOMBSTONE_EVERY = 1_000
NO_AMOUNT_EVERY = 700
NEW_METHOD_EVERY = 900


def rows() -> list[dict[str, str]]:
    """Return the rows of the file, in order."""
    with (HERE / "rides.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def as_version_1(row: dict[str, str]) -> dict[str, Any]:
    """Return the ride as producers write it today."""
    return {
        "vendor_id": int(row["VendorID"]),
        "passenger_count": int(row["passenger_count"]),
        "trip_distance": float(row["trip_distance"]),
        "payment_type": int(row["payment_type"]),
        "total_amount": float(row["total_amount"]),
    }


def as_version_2(row: dict[str, str], *, shift: timedelta) -> dict[str, Any]:
    """Return the ride as the new producer writes it, ``shift`` later than its time in the file."""
    method, outcome = PAYMENT_BY_CODE[int(row["payment_type"])]
    pickup = datetime.strptime(row["tpep_pickup_datetime"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return {
        "vendor_id": int(row["VendorID"]),
        "passenger_count": int(row["passenger_count"]),
        "distance_miles": float(row["trip_distance"]),
        "payment_method": method,
        "payment_outcome": outcome,
        "total_amount": row["total_amount"],
        "pickup_at": pickup + shift,
    }


def replayed(count: int, *, first: int = 0) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """``count`` records of version 2 with their vendor: the file again and again, a day later each time.

    Every so often comes what a migration must live with: a tombstone (None), an amount that is no number, a payment
    method that version 1 never heard of.
    """
    file = rows()
    for number in range(first, first + count):
        row = file[number % len(file)]
        vendor = int(row["VendorID"])
        if number % TOMBSTONE_EVERY == TOMBSTONE_EVERY - 1:
            yield vendor, None
            continue
        record = as_version_2(row, shift=timedelta(days=number // len(file)))
        if number % NO_AMOUNT_EVERY == NO_AMOUNT_EVERY - 1:
            record["total_amount"] = "n/a"
        elif number % NEW_METHOD_EVERY == NEW_METHOD_EVERY - 1:
            record["payment_method"] = "CRYPTO"
        yield vendor, record
