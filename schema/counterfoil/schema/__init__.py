"""The kernel: nouns and rules of schemas, without I/O and without frameworks."""
