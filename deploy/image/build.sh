#!/bin/sh
# Builds the registry, and nothing else, into a folder of its own: a virtual environment with pinned, hashed packages.
#
#   build.sh SOURCE DESTINATION [PYTHON]
#
# The Dockerfile runs the same two steps; so can anyone without containers.
set -eu

here=$(dirname "$0")
sh "$here/dependencies.sh" "$@"
sh "$here/package.sh" "$1" "$2"
