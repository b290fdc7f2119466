#!/bin/sh
# Puts the registry itself into the environment that dependencies.sh made, and removes the tools that it left.
#
#   package.sh SOURCE DESTINATION
set -eu

source=$1
destination=$2
tools=$destination.tools

"$tools/bin/uv" pip install --quiet --python "$destination/bin/python" --no-deps \
  --build-constraints "$source/constraints.txt" "$source"
rm -rf "$tools"

# Compiled now, since the server may not write here.
"$destination/bin/python" -m compileall -q "$destination/lib"
"$destination/bin/counterfoil" --version
