"""Stores: the protocol, its implementations, upgrades and checks."""
