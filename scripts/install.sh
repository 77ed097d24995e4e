#!/usr/bin/env bash
# Installs the claude-mem command with uv or pipx if available, otherwise in its own virtual environment.
# EXTRAS: of pyproject.toml, separated by commas.
set -euo pipefail
cd "$(dirname "$0")/.."
what=".${EXTRAS:+[$EXTRAS]}"

next_steps() {
    echo "Next (and after every upgrade), connect your coding agents:"
    echo "    $1 install"
}

if command -v uv > /dev/null; then
    uv tool install --quiet --force --python ">=3.11" "$what"
    bin="$(uv tool dir --bin)/claude-mem"
    echo "Installed with uv: $bin    (to remove it: claude-mem uninstall, then uv tool uninstall claude-mem-py)"
elif command -v pipx > /dev/null; then
    pipx install --quiet --force --python "$(bash scripts/find-python.sh "${PYTHON:-python3}")" "$what"
    bin="$(pipx environment --value PIPX_BIN_DIR)/claude-mem"
    echo "Installed with pipx: $bin    (to remove it: claude-mem uninstall, then pipx uninstall claude-mem-py)"
else
    home="${XDG_DATA_HOME:-$HOME/.local/share}/claude-mem-py"
    bin="$HOME/.local/bin/claude-mem"
    python="$(bash scripts/find-python.sh "${PYTHON:-python3}")"
    echo "uv and pipx not found. Installing into a virtual environment ..."
    "$python" -m venv "$home"
    pip=("$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install)
    "${pip[@]}" --require-hashes --requirement requirements/run.txt
    "${pip[@]}" --no-deps --no-build-isolation --force-reinstall .
    [ "$what" = . ] || "${pip[@]}" --no-build-isolation "$what"
    mkdir -p "$(dirname "$bin")"
    ln -sfn "$home/bin/claude-mem" "$bin"
    echo "Installed in $home, linked from $bin"
    echo "(to remove it: claude-mem uninstall, then rm -r '$home' '$bin')"
fi

if [ "$(command -v claude-mem || true)" != "$bin" ]; then
    echo "Note: $(dirname "$bin") is not on your PATH, or another claude-mem precedes it there."
fi
"$bin" --version
next_steps "$bin"
