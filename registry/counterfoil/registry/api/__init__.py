"""The REST API: routes, request parsing, answers."""
