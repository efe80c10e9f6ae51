#!/bin/sh
# Instructions a request of a build in one cell, counted by callgrind: for A/B of two builds.
# Usage: bench/instructions.sh CELL [--pqedge FILE] [--requests N]   (run.py --list: cells)
exec /usr/bin/python3 "$(dirname "$0")/count_instructions.py" "$@"
