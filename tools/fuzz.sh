#!/usr/bin/env bash
# tools/fuzz.sh [TARGET...]: runs libFuzzer targets of build/fuzz, one process after the other, at
# the lowest priority. Without a target: all. docs/internals/fuzzing.md has the whole story.
#
#   TIME=60    seconds a target
#   KEEP=1     afterwards, takes what reaches more code into tests/fuzz/corpus/TARGET
#
# What a run finds on its way stays in build/fuzz/corpus, and the next run begins with it. An input
# that makes a target fail is left in build/fuzz/findings, and the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly time=${TIME:-60} keep=${KEEP:-0}
readonly programs=build/fuzz/tests corpora=build/fuzz/corpus findings=build/fuzz/findings

die() {
  printf 'fuzz: %s\n' "$*" >&2
  exit 2
}

[[ $time =~ ^[0-9]+$ ]] || die "TIME is a number of seconds, not '$time'"
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for source in tests/fuzz/*_fuzz.cc; do
    name=$(basename "$source" _fuzz.cc)
    targets+=("$name")
  done
fi
for target in "${targets[@]}"; do
  [ -f "tests/fuzz/${target}_fuzz.cc" ] || die "there is no target '$target': tests/fuzz/*_fuzz.cc are those"
  [ -x "$programs/fuzz_$target" ] || die "$programs/fuzz_$target is missing: 'make fuzz TARGET=$target' builds it"
done

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

status=0
for target in "${targets[@]}"; do
  seeds=tests/fuzz/corpus/$target
  work=$corpora/$target
  log=$findings/$target.log
  mkdir -p "$work" "$findings" "$seeds"
  options=(-max_total_time="$time" -timeout=20 -rss_limit_mb=3072 -print_final_stats=1
    -max_len=16384 -artifact_prefix="$findings/$target-")
  [ -f "tests/fuzz/dictionaries/$target.dict" ] && options+=(-dict="tests/fuzz/dictionaries/$target.dict")
  begin=$(date +%s)
  if nice -n 19 "$programs/fuzz_$target" "${options[@]}" "$work" "$seeds" >"$log" 2>&1; then
    result="no finding"
  else
    result="FAILED, see $log"
    status=1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '%s: %s s, %s inputs, %s\n' "$target" $(($(date +%s) - begin)) "${runs:-?}" "$result"
  if [ "$keep" = 1 ]; then
    before=$(find "$seeds" -type f | wc -l)
    nice -n 19 "$programs/fuzz_$target" -merge=1 -max_len=4096 "$seeds" "$work" >>"$log" 2>&1 || true
    printf '%s: %s inputs more in %s\n' "$target" $(($(find "$seeds" -type f | wc -l) - before)) "$seeds"
  fi
done
exit $status
