"""Read-only tools for language models: ``tools.py`` answers, ``server.py`` offers the answers over the protocol (MCP)."""
