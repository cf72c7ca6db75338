#!/bin/sh
# Installs into an empty prefix, moves the prefix, and builds and runs a C and a C++ program against
# it: with find_package, with pkg-config, and with the installed loader instead of a link.
#
#   install_test.sh CMAKE BUILD_FOLDER C_COMPILER CXX_COMPILER [PKG_CONFIG [EXTRA_FLAG]]
set -eu
cmake=${1:?} build=${2:?} cc=${3:?} cxx=${4:?} pkg_config=${5:-} extra=${6:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH MILLRACE_LIBRARY

"$cmake" --install "$build" --prefix "$work/first" > "$work/install.log"
# An installation is not tied to the place that it was installed to.
prefix="$work/second place"
mv "$work/first" "$prefix"
if grep -rlF "$work/first" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h' \
  --include='*.hpp'; then
  echo "failed: these files name the place of installation"
  exit 1
fi

echo "== find_package"
"$cmake" -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_FLAGS="$extra" \
  -DCMAKE_CXX_FLAGS="$extra" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/consumer" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/consumer/consumer_c"
"$work/consumer/consumer_cpp"

# The number in base.h's MR_ABI_MAJOR, and in the file name that the linker is told.
abi_major=$(sed -n 's/^#define MR_ABI_MAJOR \([0-9]*\)u$/\1/p' "$prefix/include/millrace/base.h")
library=$(find "$prefix" -name "libmillrace.so.$abi_major")
[ -n "$library" ] || { echo "failed: no libmillrace.so.$abi_major"; exit 1; }
folder=$(dirname "$library")
if [ -n "$pkg_config" ]; then
  echo "== pkg-config"
  # Moved once more, to a place without blanks: the shell would take the flags apart there.
  cp -R "$prefix" "$work/plain"
  PKG_CONFIG_PATH=$(dirname "$(find "$work/plain" -name millrace.pc)")
  export PKG_CONFIG_PATH
  "$pkg_config" --exists --print-errors millrace
  for variable in prefix libdir includedir; do
    place=$(cd "$("$pkg_config" --variable=$variable millrace)" && pwd -P)
    case $place in "$(cd "$work/plain" && pwd -P)"*) ;; *)
      echo "failed: pkg-config's $variable is $place, not in the tree that was moved"
      exit 1 ;;
    esac
  done
  flags=$("$pkg_config" --cflags --libs millrace)
  # shellcheck disable=SC2086 # the flags are words
  "$cc" -std=c99 $extra "$here/consumer/consumer_c.c" -o "$work/with_pkg_config" $flags
  LD_LIBRARY_PATH="$folder" "$work/with_pkg_config"
  header=$(sed -n 's/^#define MR_VERSION_[A-Z]* //p' "$prefix/include/millrace/base.h" |
    tr '\n' '.' | sed 's/\.$//')
  [ "$("$pkg_config" --modversion millrace)" = "$header" ] || {
    echo "failed: pkg-config and base.h disagree on the version"
    exit 1
  }
fi

echo "== the loader"
loader=$(find "$prefix" -name millrace_loader.c)
# shellcheck disable=SC2086
"$cc" -std=c99 $extra -DCONSUMER_OPENS -I"$prefix/include" -I"$(dirname "$loader")" \
  "$here/consumer/consumer_c.c" "$loader" -o "$work/with_loader" -ldl -lpthread
MILLRACE_LIBRARY="$library" "$work/with_loader"
if "$work/with_loader" > /dev/null; then
  echo "failed: the loader's program succeeded without a library"
  exit 1
fi
