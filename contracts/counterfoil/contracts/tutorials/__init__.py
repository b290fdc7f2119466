"""The start of tutorials: files, and what a registry has before the first step of a page.

``laying.py`` writes files into an empty folder; each other module is one tutorial.
"""
