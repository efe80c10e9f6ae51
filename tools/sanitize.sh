#!/usr/bin/env bash
# The whole suite over an ASan+UBSan build, then over a TSan build. Both run, whatever the first
# says; the exit status is that of the worse.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
status=0
for kind in asan tsan; do
  tools/configure.sh "$kind" -DPQEDGE_REQUIRE_TESTS=ON &&
    cmake --build "build/$kind" &&
    ctest --test-dir "build/$kind" --label-exclude '^long$' "$@" || status=1
done
[ $status = 0 ] && echo "sanitize: both builds passed" || echo "sanitize: FAILED"
exit $status
