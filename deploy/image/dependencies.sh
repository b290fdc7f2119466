#!/bin/sh
# Makes a virtual environment with the registry's dependencies, pinned and hashed, and nothing of the registry itself.
#
#   dependencies.sh SOURCE DESTINATION [PYTHON]
#
# Of SOURCE only deploy/bootstrap.txt and deploy/image/ are read: while these stay the same, so does an image's layer. The
# tools for the next step are put beside the destination, into DESTINATION.tools.
set -eu

source=$1
destination=$2
python=${3:-python3}
tools=$destination.tools

"$python" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$source/deploy/bootstrap.txt"
"$tools/bin/uv" venv --quiet --python "$python" "$destination"
"$tools/bin/uv" pip install --quiet --python "$destination/bin/python" --require-hashes \
  -r "$source/deploy/image/requirements.txt"
