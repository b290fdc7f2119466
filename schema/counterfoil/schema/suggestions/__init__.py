"""Suggested rules of bridges: from the schemas, and from the counted values of sketches."""
