"""The server process: sockets, connections, worker processes."""
