"""Serving the application: processes, sockets, TLS, connections with limits."""
