"""Count the rides of each vendor in a table: `faust -A count_by_vendor worker -l warn --without-web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxi import TaxiRide, new_app, rides_topic

if TYPE_CHECKING:
    from faust import StreamT

app = new_app("count")
rides = rides_topic(app)
counts = app.Table("rides_by_vendor", default=int)


@app.agent(rides)
async def count_by_vendor(stream: StreamT) -> None:
    # All rides of a vendor reach the same agent, through a topic whose key is the vendor.
    async for ride in stream.group_by(TaxiRide.vendorId):
        counts[ride.vendorId] += 1
        print(f"{ride.vendorId}: {counts[ride.vendorId]} rides", flush=True)
