"""Sketches: a bounded summary of the records in a topic, and which findings these records cannot cause."""

from counterfoil.schema.sketch.document import InvalidSketch, read_sketch, write_sketch
from counterfoil.schema.sketch.model import PartSketch, PlaceSketch, SchemaSketch, TopicSketch, WriterSchema
from counterfoil.schema.sketch.sketcher import Collection, Sketcher, make_sketcher
from counterfoil.schema.sketch.weigh import Weight, weigh

__all__ = [
    "Collection",
    "InvalidSketch",
    "PartSketch",
    "PlaceSketch",
    "SchemaSketch",
    "Sketcher",
    "TopicSketch",
    "Weight",
    "WriterSchema",
    "make_sketcher",
    "read_sketch",
    "weigh",
    "write_sketch",
]
