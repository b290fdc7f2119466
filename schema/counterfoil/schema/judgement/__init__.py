"""Judgements of schemas: whether one may follow others, why not, and the values that prove it."""
