"""Verdicts about contracts: which sides count, how their pairs are judged, and what is decided."""
