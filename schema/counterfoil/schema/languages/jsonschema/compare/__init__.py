"""JSON schemas compared as Confluent does: trees of nodes, walked together."""
