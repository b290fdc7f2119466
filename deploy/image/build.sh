#!/bin/sh
# Builds the registry, and nothing else, into a folder of its own: a virtual environment with pinned, hashed packages.
#
#   build.sh SOURCE DESTINATION [PYTHON]
#
# The Dockerfile runs exactly this; so can anyone without containers.
set -eu

source=$1
destination=$2
python=${3:-python3}

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$python" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$source/deploy/bootstrap.txt"

"$tools/bin/uv" venv --quiet --python "$python" "$destination"
"$tools/bin/uv" pip install --quiet --python "$destination/bin/python" --require-hashes \
  -r "$source/deploy/image/requirements.txt"
"$tools/bin/uv" pip install --quiet --python "$destination/bin/python" --no-deps \
  --build-constraints "$source/constraints.txt" "$source"

# Compiled now, since the server may not write here.
"$destination/bin/python" -m compileall -q "$destination/lib"
"$destination/bin/counterfoil" --version
