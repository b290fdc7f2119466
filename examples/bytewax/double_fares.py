"""Read rides and write their fares doubled, with Bytewax; what cannot be read goes to a topic of dead letters.

    python -m bytewax.run double_fares

It reads what is in the topic and ends; with `tail=True` it waits for more.
"""

from __future__ import annotations

import os
from typing import Any

from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSourceMessage
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow
from bytewax.run import cli_main

from counterfoil.sdk import AvroDeserializer, AvroSerializer, Registry
from counterfoil.sdk.adapters import bytewax as cop

BROKERS = [os.environ.get("BROKER", "localhost:9092")]
TOPIC = os.environ.get("TOPIC", "taxi-rides")
FARE = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'

registry = Registry(os.environ.get("REGISTRY", "http://localhost:8081"))


def double(message: KafkaSourceMessage[Any, Any]) -> KafkaSourceMessage[Any, Any]:
    ride = message.value
    return KafkaSourceMessage(message.key, ride and {"fare": 2 * ride["total_amount"]}, headers=message.headers)


flow = Dataflow("double-fares")
messages = kop.input("rides", flow, brokers=BROKERS, topics=[TOPIC], tail=False)
rides = cop.deserialize("read", messages.oks, val_deserializer=AvroDeserializer(registry))
doubled = op.map("double", rides.oks, double)
written = cop.serialize("write", doubled, topic=f"{TOPIC}.doubled", val_serializer=AvroSerializer(registry, FARE))
kop.output("doubled", written.oks, brokers=BROKERS, topic=f"{TOPIC}.doubled")
op.raises("refused", op.map("why", written.errs, lambda failed: failed.error))
letters = cop.dead_letters("explain", rides.errs)
kop.output("dead letters", letters, brokers=BROKERS, topic=f"{TOPIC}.dead-letters")

if __name__ == "__main__":
    cli_main(flow)
