"""Print every ride: `faust -A print_rides worker -l warn --without-web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxi import new_app, rides_topic

if TYPE_CHECKING:
    from faust import StreamT

app = new_app("print")
rides = rides_topic(app)


@app.agent(rides)
async def print_rides(stream: StreamT) -> None:
    async for ride in stream:
        print(f"{ride.vendorId}: {ride.trip_distance} miles for {ride.total_amount}", flush=True)
