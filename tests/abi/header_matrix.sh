#!/bin/sh
# Compiles every public header alone and twice, in every C and C++ standard from C99 and C++11 on,
# with gcc and clang and all warnings as errors. A header that needs another one first, that pads a
# struct, or that breaks an older standard fails here.
#
#   header_matrix.sh INCLUDE_FOLDER [CPP_BINDING_FOLDER]
#
# With the second folder, the headers of the C++ binding too, from C++17 on.
set -u
include=${1:?the include folder}
binding=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# clang's -Weverything, minus what contradicts the purpose: complaints about C99 and C++11 features
# themselves, and about zeros that _INIT macros leave to pointers.
c_clang="-Wno-unknown-warning-option -Weverything -Wno-declaration-after-statement -Wno-unsafe-buffer-usage -Wno-pre-c2x-compat"
cxx_clang="-Wno-unknown-warning-option -Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-unsafe-buffer-usage
           -Wno-zero-as-null-pointer-constant -Wno-pre-c2x-compat"
common="-Wall -Wextra -pedantic-errors -Wshadow -Wconversion -Wpadded -Werror -fsyntax-only"

for header in "$include"/millrace/*.h; do
  name=$(basename "$header")
  # The language of a file follows from its suffix. The typedef keeps the unit from being empty.
  for suffix in c cpp; do
    printf '#include <millrace/%s>\n#include <millrace/%s>\ntypedef int mr_unit;\n' \
      "$name" "$name" > "$work/${name%.h}_once.$suffix"
  done
done
# All structs set up by their macros: an _INIT that misses a field or converts a value fails.
inits=$(sed -n 's/^#define \(MR_[A-Z0-9_]*_INIT\).*/\1/p' "$include"/millrace/*.h)
for suffix in c cpp; do
  {
    echo '#include <millrace/millrace.h>'
    for init in $inits; do
      type=$(echo "${init%_INIT}" | tr 'A-Z' 'a-z')
      printf 'extern %s use_%s(void);\n%s use_%s(void) { %s s = %s; return s; }\n' \
        "$type" "$type" "$type" "$type" "$type" "$init"
    done
  } > "$work/inits.$suffix"
done

failed=0
run() { # compiler, standard, flags...
  compiler=$1 standard=$2
  shift 2
  case $standard in *++*) suffix=cpp ;; *) suffix=c ;; esac
  # shellcheck disable=SC2086 # the flags are words
  if ! "$compiler" -std="$standard" $common "$@" -I"$include" "$work"/*."$suffix"; then
    echo "failed: $compiler -std=$standard"
    failed=1
  fi
}

tried=0
for standard in c99 c11 c17 c2x; do
  if command -v gcc > /dev/null; then
    run gcc $standard -Wc++-compat -Wstrict-prototypes -Wold-style-definition
    tried=$((tried + 1))
  fi
  # shellcheck disable=SC2086
  if command -v clang > /dev/null; then run clang $standard -Wc++-compat $c_clang; tried=$((tried + 1)); fi
done
for standard in c++11 c++14 c++17 c++20 c++2b; do
  if command -v g++ > /dev/null; then
    run g++ $standard -Wold-style-cast -Wuseless-cast -Wsign-conversion
    tried=$((tried + 1))
  fi
  # shellcheck disable=SC2086
  if command -v clang++ > /dev/null; then run clang++ $standard $cxx_clang; tried=$((tried + 1)); fi
done
# The C++ binding, all headers twice in one unit; each alone once, with the first compiler there is.
binding_unit() { # compiler, standard; the unit from standard input
  tried=$((tried + 1))
  if ! "$1" -std="$2" -x c++ -Wall -Wextra -pedantic-errors -Wshadow -Wconversion -Wsign-conversion \
      -Wold-style-cast -Werror -fsyntax-only -I"$include" -I"$binding" -; then
    echo "failed: $1 -std=$2, C++ binding"
    failed=1
  fi
}
if [ -n "$binding" ]; then
  (cd "$binding" && printf '#include <%s>\n' *.hpp *.hpp) > "$work/all.txt"
  for compiler in g++ clang++; do
    command -v $compiler > /dev/null || continue
    for standard in c++17 c++20 c++2b; do binding_unit $compiler $standard < "$work/all.txt"; done
    [ -z "${tried_alone:-}" ] || continue
    tried_alone=yes
    for header in "$binding"/*.hpp; do
      echo "#include <$(basename "$header")>" > "$work/one.txt"
      binding_unit $compiler c++17 < "$work/one.txt"
    done
  done
fi
echo "header matrix: $tried combinations of compiler and standard"
[ $tried -gt 0 ] || { echo "no compiler found"; exit 1; }
exit $failed
