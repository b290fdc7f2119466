"""Moving a registry's content: backups, restores, copies of other registries, comparisons. No part of the server."""
