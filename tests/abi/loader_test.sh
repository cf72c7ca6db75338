#!/bin/sh
# Runs every scenario of loader_test, those included that need a folder of their own: case E13 (a path
# with blanks and non-ASCII characters) and the current directory, which must not be searched.
#
#   loader_test.sh PROGRAM LIBRARY OLDER_LIBRARY OTHER_MAJOR_LIBRARY
set -u
program=${1:?} library=${2:?} older=${3:?} other_major=${4:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MILLRACE_LIBRARY LD_LIBRARY_PATH
failed=0
run() {
  "$@" || { echo "failed: $*"; failed=1; }
}

run "$program" before
run "$program" absent "$(ldd "$program" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')"
run "$program" open "$library" "$older"
run "$program" older "$older"
run "$program" mismatch "$other_major"
run env MILLRACE_LIBRARY="$library" "$program" open

# Beside the program.
place="$work/a b/ü中/lib"
mkdir -p "$place"
cp "$library" "$place/libmillrace.so.0"
cp "$program" "$place/host"
run "$place/host" open
run "$place/host" open "$place/libmillrace.so.0"
(cd "$work/a b" && run ./ü中/lib/host open && exit $failed) || failed=1

# Here, but neither beside the program nor installed.
(cd "$place" && run "$program" current_directory && exit $failed) || failed=1
exit $failed
