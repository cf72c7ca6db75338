#!/usr/bin/env bash
# The command line of `generate`: what goes to standard output, what to standard error, and the exit
# code.
set -euo pipefail
generate=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() { # expect <what> <wanted> <got>
  if [ "$2" != "$3" ]; then
    printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}
contains() { # contains <what> <part> <text>
  case $3 in
    *"$2"*) ;;
    *) printf 'FAILED %s: no "%s" in: %s\n' "$1" "$2" "$3"; failures=$((failures + 1)) ;;
  esac
}
fails() { # fails <part of the message> <arguments...>
  local part=$1
  shift
  if "$generate" "$@" >"$work/out" 2>"$work/err" </dev/null; then
    printf 'FAILED: %s succeeded\n' "$*"
    failures=$((failures + 1))
  fi
  expect "standard output of a failure: $*" "" "$(cat "$work/out")"
  contains "message of $*" "$part" "$(cat "$work/err")"
}

prompt="Once upon a time there was a"
text=$("$generate" --prompt "$prompt" --max-tokens 12 2>"$work/err")
expect "the text alone on standard output" " great many persons who had been making a" "$text"
expect "silence on standard error" "" "$(cat "$work/err")"

two=$("$generate" --prompt "$prompt" --prompt "Alice" --max-tokens 4)
expect "one text for each prompt, in order" "$("$generate" "$prompt" --max-tokens 4)
$("$generate" Alice --max-tokens 4)" "$two"
expect "prompts from standard input, one a line" "$two" \
  "$(printf '%s\nAlice\n' "$prompt" | "$generate" --max-tokens 4)"

"$generate" "$prompt" --max-tokens 4 --stats >"$work/out" 2>"$work/err"
for word in "tokens/s" "first token" "allocated" "reserved" "peak"; do
  contains "--stats" "$word" "$(cat "$work/err")"
done

draw() {
  "$generate" "$prompt" --max-tokens 16 --temperature 1 --top-k 40 --top-p 0.9 --min-p 0.02 \
    --seed "$1"
}
expect "the same seed draws the same text" "$(draw 3)" "$(draw 3)"
if [ "$(draw 3)" = "$(draw 4)" ]; then
  echo "FAILED: two seeds drew one text"
  failures=$((failures + 1))
fi

printf '%s' "The king said to his daughter, I am not a king." >"$work/text"
score=$("$generate" --score "$work/text")
case $score in [0-9].[0-9]*) ;; *)
  echo "FAILED: --score printed: $score"
  failures=$((failures + 1)) ;;
esac
"$generate" "$prompt" --max-tokens 4 --dtype bf16 --device host >/dev/null
"$generate" "$prompt" --max-tokens 4 --dtype f16 >/dev/null

fails "no prompt" --max-tokens 4
fails "config.json" "$prompt" --model "$work"
fails "--device" "$prompt" --device gpu
fails "--dtype" "$prompt" --dtype int4
fails "more than the model's context" "$prompt" --max-tokens 2000
fails "cannot read" --score "$work/none"
fails "--temperature" "$prompt" --temperature -1

[ "$failures" -eq 0 ] && echo "command line: all as expected"
exit "$((failures > 0))"
