"""The generation of values: one value that fits some schemas, the proof that none does, or many sample values."""
