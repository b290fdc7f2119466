"""Sketches: a bounded summary of the records in a topic, and which findings these records cannot cause."""

from counterfoil.schema.sketch.avro import sketch_avro
from counterfoil.schema.sketch.model import PlaceSketch, SchemaSketch, TopicSketch
from counterfoil.schema.sketch.weigh import Weight, weigh

__all__ = ["PlaceSketch", "SchemaSketch", "TopicSketch", "Weight", "sketch_avro", "weigh"]
