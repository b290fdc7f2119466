"""Read-only tools for language models: ``tools.py`` answers, ``server.py`` offers that over the protocol (MCP)."""
