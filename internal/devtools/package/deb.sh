#!/usr/bin/env bash
# Writes to the folder $4 the Debian package of the program $1 for the architecture $2 (amd64, arm64), with what pages.sh
# wrote to the folder $3. Equal files and an equal SOURCE_DATE_EPOCH, by default the time of the commit, give equal bytes.
set -euo pipefail
export PROGRAM ARCH=$2 PAGES VERSION SOURCE_DATE_EPOCH
PROGRAM=$(realpath "$1")
PAGES=$(realpath "$3")
out=$(realpath "$4")
cd "$(dirname "$0")/../../.."
VERSION=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' internal/cmdline/build.go)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

# The package has its program in /usr/bin and a configuration of its own.
unit=$(mktemp)
trap 'rm -f "$unit"' EXIT
sed -e '1,/^\[Unit\]$/{/^#/d}' \
	-e 's|^ExecStart=.*|ExecStart=/usr/bin/tickhive serve --config /etc/tickhive/tickhive.toml|' \
	deploy/tickhive.service >"$unit"
export UNIT=$unit
"${GO:-go}" run -modfile="$PWD/internal/devtools/go.mod" github.com/goreleaser/nfpm/v2/cmd/nfpm package \
	--config internal/devtools/package/nfpm.yaml --packager deb --target "$out"
