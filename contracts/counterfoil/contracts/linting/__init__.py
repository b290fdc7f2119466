"""The check of contract, product, project and schema files by themselves, offline: ``counterfoil lint``."""
