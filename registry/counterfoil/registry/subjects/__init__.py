"""Subjects: registration, look-up, deletion, levels, modes, contexts, tags."""
