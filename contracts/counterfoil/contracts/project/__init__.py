"""The project file ``counterfoil.yaml``: which schema file belongs to which subject, and how it is checked."""
