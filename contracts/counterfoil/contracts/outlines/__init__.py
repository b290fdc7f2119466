"""Outlines: which names a schema text declares and which it uses, found without parsing the schema.

This is what finding the files that a schema refers to takes, in trees where most files are never parsed. One module for
each language; :mod:`~counterfoil.contracts.outlines.find` chooses.
"""
