#!/usr/bin/env bash
# Formatting, layout and scripts; with LINT_TIDY=1 also clang-tidy over the release build.
# All checks run, whatever fails first; the exit status is 1 if any did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
failed=0

fail() {
  printf 'lint: %s\n' "$*" >&2
  failed=1
}

command -v clang-format-19 >/dev/null || {
  printf "lint: clang-format-19 is missing: 'make deps DEPS=dev' installs it\n" >&2
  exit 1
}

mapfile -d '' -t sources < <(find src tests bench -name build -prune -o \
  -type f \( -name '*.cc' -o -name '*.h' \) -print0 2>/dev/null | sort -z)
if [ ${#sources[@]} -gt 0 ]; then
  clang-format-19 --dry-run -Werror "${sources[@]}" || fail "formatting: 'make format' mends it"
fi

/usr/bin/python3 tests/layout/check_layout.py || fail "layout"

if command -v shellcheck >/dev/null; then
  mapfile -d '' -t scripts < <(find tools bench packaging tests -type f -name '*.sh' -print0 2>/dev/null)
  shellcheck --severity=warning "${scripts[@]}" .ci/run || fail "shellcheck"
else
  echo "lint: shellcheck is not installed, scripts were not checked"
fi

if [ "${LINT_TIDY:-}" = 1 ]; then
  [ -f build/compile_commands.json ] || cmake --preset release >/dev/null || exit 1
  # The headers that a build generates must be there.
  cmake --build build --target pqedge_version >/dev/null || exit 1
  mapfile -d '' -t units < <(find src -type f -name '*.cc' -print0 | sort -z)
  printf '%s\0' "${units[@]}" |
    xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-19 -p build --quiet --warnings-as-errors='*' ||
    fail "clang-tidy"
fi

[ $failed = 0 ] && echo "lint: clean"
exit $failed
