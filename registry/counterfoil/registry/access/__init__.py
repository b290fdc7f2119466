"""Access: who calls, and who may do what."""
