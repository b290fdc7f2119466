"""Where the services are, the topic, and the schema of its values."""

from __future__ import annotations

import os

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
RIDE_SCHEMA = """{"type": "record", "name": "TaxiRide", "namespace": "taxi", "fields": [
  {"name": "vendorId", "type": "string"},
  {"name": "passenger_count", "type": "int"},
  {"name": "trip_distance", "type": "double"},
  {"name": "total_amount", "type": "double"}
]}"""
