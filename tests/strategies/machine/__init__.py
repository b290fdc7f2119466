"""Disks that fill, networks that break, and commands in processes that stay."""
