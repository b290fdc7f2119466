"""Tagged places, schemas that encrypt them, and key management services on loopback."""
