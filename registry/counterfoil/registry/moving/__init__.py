"""Moving a registry's content: backups, restores, copies, comparisons. It is no part of the server."""
