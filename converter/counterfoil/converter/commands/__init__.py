"""The sub-commands of ``counterfoil bridge`` that use several parts of the converter."""
