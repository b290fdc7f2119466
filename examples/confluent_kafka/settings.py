"""Where the services are, the topics, and the schemas of the rides."""

from __future__ import annotations

import os

BROKER = os.environ.get("BROKER", "localhost:9092")
REGISTRY = os.environ.get("REGISTRY", "http://localhost:8081")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
GROUP = os.environ.get("GROUP", "taxi-rides-readers")

RIDE_KEY_SCHEMA = """{"type": "record", "name": "RideKey", "namespace": "taxi", "fields": [
  {"name": "vendor_id", "type": "int"}
]}"""
RIDE_VALUE_SCHEMA = """{"type": "record", "name": "Ride", "namespace": "taxi", "fields": [
  {"name": "vendor_id", "type": "int"},
  {"name": "passenger_count", "type": "int"},
  {"name": "trip_distance", "type": "float"},
  {"name": "total_amount", "type": "float"}
]}"""
