#!/bin/sh
# Case E07: a process that ends with live objects ends with code 0 and in silence, 104 times, whoever
# ends it. See exit_objects.cpp.
#
#   exit_runs.sh PROGRAM
set -u
program=${1:?}
round=0
while [ $round -lt 13 ]; do
  for kind in raw owned; do
    for ending in return exit thread_exit thread_last; do
      output=$(timeout 20 "$program" $kind $ending 2>&1)
      code=$?
      if [ $code -ne 0 ] || [ -n "$output" ]; then
        echo "failed: round $round, $kind $ending: exit code $code, output: $output"
        exit 1
      fi
    done
  done
  round=$((round + 1))
done
