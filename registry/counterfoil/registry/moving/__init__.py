"""Moving a registry's content: backups, restores, copies of other registries, comparisons.

It is no part of the server.
"""
