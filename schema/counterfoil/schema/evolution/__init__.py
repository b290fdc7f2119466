"""Conversion plans: how records of one schema become records of another."""
