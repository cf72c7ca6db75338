#!/bin/sh
# What the built library shows to the world: its exports, its version node, what it needs, and what
# its own objects may call.
#
#   symbols.sh LIBRARY EXPORTS_LIST SONAME VERSION_NODE [OBJECT_LIST]
#
# OBJECT_LIST is a file that names the library's own objects, one per line.
set -u
library=${1:?} list=${2:?} soname=${3:?} node=${4:?} objects=${5:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  echo "failed: $*"
  failed=1
}

# Exports: exactly the list, each at the version node; no C++ name, no unique symbol, no data.
nm -D --defined-only "$library" > "$work/nm"
awk '$2 != "A" { print $3 }' "$work/nm" | sed 's/@@.*//' | LC_ALL=C sort > "$work/names"
if ! LC_ALL=C diff "$list" "$work/names" > "$work/diff"; then
  fail "the exports differ from $list (< listed, > exported):"
  cat "$work/diff"
fi
grep -E ' [uVv] |_Z' "$work/nm" && fail "C++ or unique symbols are exported"
awk '$2 != "A" && $2 != "T"' "$work/nm" | grep . && fail "something other than functions is exported"
awk '$2 == "T"' "$work/nm" | grep -v "@@$node\$" && fail "an export is not at $node"
grep -q " A $node\$\| A $node@@$node\$" "$work/nm" || fail "the version node $node is missing"

# Dependencies: the C library alone. Drivers, BLAS and the like are loaded on demand.
readelf -dW "$library" > "$work/dynamic"
sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$work/dynamic" > "$work/needed"
grep -vE '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux.*)$' \
  "$work/needed" && fail "the library needs more than the C library"
grep -q "(SONAME).*\[$soname\]" "$work/dynamic" || fail "the soname is not $soname"
grep -q "NODELETE" "$work/dynamic" || fail "not linked with -z nodelete"
grep -qE "SYMBOLIC" "$work/dynamic" || fail "not linked with -Bsymbolic"
grep -q "TEXTREL" "$work/dynamic" && fail "the code needs relocation"
grep -E "\((RPATH|RUNPATH)\)" "$work/dynamic" | grep -v '\[\$ORIGIN\]' && fail "a run path other than \$ORIGIN"
readelf -lW "$library" | grep GNU_STACK | grep -q RWE && fail "the stack is executable"

# References: nothing that ends the process or prints, from the library's own objects. The library as
# a whole is excused for what is linked in statically: std::terminate's handler and the unwinder of
# the C++ runtime call abort, and the CUDA runtime calls exit and kill.
runtime_calls='^(abort|exit|kill)$'
# What nvcc adds to the host half of each .cu file, to register its kernels when the library is loaded
# and to take them back at exit.
nvcc_calls='^[^ ]*[.]cu[.]o:? (atexit|exit)$'
nm -D --undefined-only "$library" | awk '{ print $2 }' | sed 's/@.*//' > "$work/undefined"
ending='^(abort|exit|_exit|_Exit|quick_exit|__assert_fail|__assert|raise|kill|pthread_exit)$'
printing='^(printf|puts|putchar|vprintf|__printf_chk|__vprintf_chk|perror|stdout|stderr|_ZSt4cout|_ZSt4cerr|_ZSt4clog)$'
process='^(fork|vfork|execv.*|execl.*|system|popen|signal|sigaction|atexit|on_exit|chdir|setenv|putenv|setlocale)$'
grep -E "$ending" "$work/undefined" | grep -vE "$runtime_calls" && fail "the library can end the process"
if [ -n "$objects" ]; then
  checked=$(grep -c . "$objects")
  [ "$checked" -gt 0 ] || fail "$objects names no object"
  # "object:        U symbol"; a symbol's version does not occur in objects.
  grep . "$objects" | xargs -d '\n' nm -A --undefined-only > "$work/references" || fail "nm"
  if awk '{ sub(/.*\//, "", $1); print $1, $NF }' "$work/references" |
      grep -vE "$nvcc_calls" |
      grep -E "^[^ ]+ ($(echo "$ending|$printing|$process" | tr -d '^$()'))\$"; then
    fail "own objects call what a library must not"
  fi
  echo "symbols: $checked objects, $(wc -l < "$work/references") references"
fi
echo "symbols: $(wc -l < "$work/names") exports, needs $(tr '\n' ' ' < "$work/needed")"
exit $failed
