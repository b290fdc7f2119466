"""Who reads a subject and its fields, as a registry knows it: ``counterfoil usage``."""
