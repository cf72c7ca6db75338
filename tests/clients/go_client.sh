#!/bin/sh
# The Go binding's layout test, the Go client, and its ownership tests.
#
#   MILLRACE_LIBRARY=FILE go_client.sh GO
set -eu
go=${1:?}
: "${MILLRACE_LIBRARY:?the library to open}"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

# Go does not see when headers outside the package change; a flag naming their contents shows it.
sources=$(cat "$root"/include/millrace/*.h "$root"/bindings/loader/* | cksum | cut -d ' ' -f 1)
export CGO_CFLAGS="-O2 -DMILLRACE_SOURCES=$sources"
export GOFLAGS=-mod=mod GOPROXY=off GODEBUG=cgocheck=1 CGO_ENABLED=1

(cd "$root/bindings/go" && "$go" vet ./... && "$go" test -count=1 ./...)
cd "$here/go_client"
"$go" vet ./...
"$go" run .
"$go" test -count=1 ./...
# A library that is not there must end the program with an error, and no result.
if MILLRACE_LIBRARY=/nonexistent "$go" run . 2> /dev/null; then
  echo "failed: the Go client succeeded without a library"
  exit 1
fi
