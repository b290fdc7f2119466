"""``python -m counterfoil.registry``: the same as ``counterfoil serve``."""

from counterfoil.registry.cli import serve

if __name__ == "__main__":
    serve()
