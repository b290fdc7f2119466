"""Read rides as Arrow tables in the order of time, and write their fares doubled, with Beavers.

    python double_fares.py 1000

The argument is the number of rides after which it ends. Messages that cannot be read go to a topic of dead letters.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from beavers.dag import Dag
from beavers.kafka import SourceTopic
from confluent_kafka import Message, Producer

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from counterfoil.sdk.adapters.beavers import Columns, TableReader, TableWriter, create_driver
from counterfoil.sdk.adapters.dead_letters import dead_letter

if TYPE_CHECKING:
    from counterfoil.sdk import SerdeError

SERVERS = {"bootstrap.servers": os.environ.get("BROKER", "localhost:9092")}
TOPIC = os.environ.get("TOPIC", "taxi-rides")
FARE = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'
RIDES = pa.schema([("key", pa.binary()), ("total_amount", pa.float64())])
FARES = pa.schema([("key", pa.binary()), ("fare", pa.float64())])
COLUMNS = Columns(key="key")


def double(rides: pa.Table) -> pa.Table:
    return pa.table([rides.column("key"), pc.multiply(rides.column("total_amount"), 2.0)], schema=FARES)


def main(count: int) -> None:
    letters = Producer(SERVERS)

    def report(message: Message, error: SerdeError) -> None:
        letters.produce(f"{TOPIC}.dead-letters", **dead_letter(message, error))

    with Registry(os.environ.get("REGISTRY", "http://localhost:8081")) as registry:
        dag = Dag()
        rides = dag.pa.source_table(RIDES, name="rides")
        fares = dag.pa.table_stream(double, FARES).map(rides)
        dag.sink("fares", fares)
        seen = dag.state(Counter()).map(rides)
        value_schema = pa.schema([RIDES.field("total_amount")])
        reader = TableReader(value=AvroDeserializer(registry), schema=value_schema, columns=COLUMNS, report=report)
        writer = TableWriter(topic=f"{TOPIC}.doubled", value=AvroSerializer(registry, FARE), columns=COLUMNS)
        driver = create_driver(
            dag,
            producer_config=SERVERS,
            consumer_config={**SERVERS, "group.id": "double-fares"},
            source_topics={"rides": SourceTopic.from_earliest(TOPIC, reader)},
            sink_topics={"fares": writer},
        )
        while (seen.get_value() or 0) < count:
            driver.run_cycle(0.5)
    letters.flush()


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, rides: pa.Table) -> int:
        self.count += len(rides)
        return self.count


if __name__ == "__main__":
    main(int(sys.argv[1]))
