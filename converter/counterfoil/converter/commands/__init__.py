"""The sub-commands of ``counterfoil bridge`` that use several parts of the converter, a module for each.

Those of one part are in its module ``command``. Each function returns the exit code of the process.
"""
