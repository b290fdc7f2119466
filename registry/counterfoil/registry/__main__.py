"""``python -m counterfoil.registry``: the same as ``counterfoil serve``."""

import sys

from counterfoil.contracts.cli.run import run
from counterfoil.registry.serving.command import serve

if __name__ == "__main__":
    sys.exit(run(serve, sys.argv[1:], name="python -m counterfoil.registry"))
