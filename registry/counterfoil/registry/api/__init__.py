"""The REST API: routes, parsing of requests, responses."""
