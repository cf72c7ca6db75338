#!/bin/sh
# The Rust declarations' layout test, linked and opened at run time; the Rust client; its ownership
# tests.
#
#   MILLRACE_LIBRARY=FILE rust_client.sh CARGO RUSTC TARGET_FOLDER
set -eu
cargo=${1:?} RUSTC=${2:?} CARGO_TARGET_DIR=${3:?}
: "${MILLRACE_LIBRARY:?the library to open}"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
MILLRACE_LIB_DIR=$(dirname "$MILLRACE_LIBRARY")
LD_LIBRARY_PATH="$MILLRACE_LIB_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export RUSTC CARGO_TARGET_DIR MILLRACE_LIB_DIR LD_LIBRARY_PATH
# Warnings fail the test: the committed declarations are clean with the oldest compiler.
export RUSTFLAGS="-D warnings"

for features in --no-default-features --all-features; do
  (cd "$root/bindings/rust" && "$cargo" test --offline --quiet --workspace "$features" --tests)
done
cd "$here/rust_client"
"$cargo" run --offline --quiet
"$cargo" test --offline --quiet
# A library that is not there must end the program with an error, and no result.
if MILLRACE_LIBRARY=/nonexistent "$cargo" run --offline --quiet 2> /dev/null; then
  echo "failed: the Rust client succeeded without a library"
  exit 1
fi
