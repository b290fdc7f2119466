# Install the counterfoil of this action's own version with the Python $PYTHON, beside the job's packages.
set -euo pipefail
venv="$RUNNER_TEMP/counterfoil-venv"
"$PYTHON" -m venv "$venv"
python="$venv/bin/python"
if [ ! -e "$python" ]; then python="$venv/Scripts/python.exe"; fi   # Windows
"$python" -m pip install --quiet --disable-pip-version-check "${PACKAGE:-$GITHUB_ACTION_PATH}"
echo "python=$python" >> "$GITHUB_OUTPUT"
