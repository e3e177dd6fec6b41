#!/bin/sh
# Bundles the scripts and styles of src into app (doc.go). go generate runs it.
set -eu
cd "$(dirname "$0")"
exec go run -modfile=../../internal/devtools/go.mod github.com/evanw/esbuild/cmd/esbuild \
	src/index.js src/pages.js src/cluster.js src/console.js src/docs.js src/swagger.js src/style.css src/console.css --outdir=app --bundle --minify \
	--format=esm --target=es2022 --charset=utf8 '--external:./vendor/*' --external:./console.js --log-level=warning
