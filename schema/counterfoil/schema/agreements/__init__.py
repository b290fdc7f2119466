"""Promises of producers and expectations of consumers: their files, and the verdict about changes."""
