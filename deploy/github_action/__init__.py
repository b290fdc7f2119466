"""What the GitHub action runs (``action.yml``), with the Python into which it has installed counterfoil."""
