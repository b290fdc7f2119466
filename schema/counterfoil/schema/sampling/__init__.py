"""Bounded samples of a topic: which offsets they consist of, and what a sample says about all records.

``selection.py`` chooses offsets, ``runs.py`` decides how they are read, ``moments.py`` reads times and ages,
``confidence.py`` has the rule of three.
"""
