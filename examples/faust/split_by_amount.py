"""Send cheap and dear rides to topics of their own: `faust -A split_by_amount worker -l warn --without-web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from settings import TOPIC
from taxi import new_app, rides_topic

if TYPE_CHECKING:
    from faust import StreamT

CHEAP_BELOW = 40.0

app = new_app("split")
rides = rides_topic(app)
low_amount = rides_topic(app, f"{TOPIC}.low_amount")
high_amount = rides_topic(app, f"{TOPIC}.high_amount")


@app.agent(rides)
async def split_by_amount(stream: StreamT) -> None:
    for topic in (low_amount, high_amount):
        await topic.schema.warm()  # registers the schema before the first ride: an error stops the agent here
    async for key, ride in stream.items():
        topic = low_amount if ride.total_amount < CHEAP_BELOW else high_amount
        await topic.send(key=key, value=ride)
