#!/usr/bin/env bash
# Prints the path of a real Python >= 3.11: the one asked for, else the newest on PATH.
# The interpreter itself says where it lies, so that a version manager's shim (slow at every start) is left out.
set -euo pipefail

for candidate in "${1:-python3}" python3.14 python3.13 python3.12 python3.11 python3 python; do
    if path="$("$candidate" -I -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(sys.executable)' 2> /dev/null)"; then
        echo "$path"
        exit 0
    fi
done
echo "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3 …" >&2
exit 1
