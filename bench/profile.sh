#!/bin/sh
# Where an arm's time goes in one cell: perf's samples and its system calls a request.
# Usage: bench/profile.sh CELL [--arm NAME] [--seconds N] [--pqedge FILE]   (run.py --list: cells)
exec /usr/bin/python3 "$(dirname "$0")/profile_arm.py" "$@"
