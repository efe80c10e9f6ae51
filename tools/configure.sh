#!/usr/bin/env bash
# tools/configure.sh PRESET [CMAKE-ARGUMENT...]: configures quietly; all output only on failure.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
grep -E 'Warning|is missing' "$log" || true
echo "configured: $preset"
