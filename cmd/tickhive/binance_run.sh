#!/bin/sh
# Starts an exchange and a program for which Binance's host names lead to this exchange. Both run in a network of their
# own, which has no way out.
#
#   run PROGRAM [ARGUMENT...]    while it runs, another run joins it
#
# For Linux: unshare and nsenter of util-linux, ip of iproute2 or ifconfig. tickhive.toml is the configuration of the
# exchange, serve.log its log, key.json a funded key.
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
tickhive=${TICKHIVE:-@TICKHIVE@}
step=outside
case ${1-} in --inside | --joined) step=${1#--}; shift ;; esac
if [ $# -eq 0 ]; then
	echo "usage: $0 PROGRAM [ARGUMENT...]" >&2
	exit 2
fi

pid=$(cat "$dir/pid" 2>/dev/null || true)
if [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$dir" ]; then pid=; fi # a process that has ended
if [ -n "$pid" ] && [ "$(readlink /proc/self/ns/net)" = "$(readlink "/proc/$pid/ns/net")" ]; then step=joined; fi
if [ $step = outside ]; then
	if [ -n "$pid" ]; then
		exec nsenter --preserve-credentials --user --net --mount --wdns="$PWD" --target "$pid" -- \
			"$dir/run" --joined "$@"
	fi
	exec unshare --map-root-user --net --mount -- "$dir/run" --inside "$@"
fi

unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
ca=$dir/ca.pem
if [ $step = inside ]; then
	if command -v ip >/dev/null; then ip link set lo up; else ifconfig lo up; fi
	mount --bind "$dir/hosts" /etc/hosts
	# Programs that read the system's certificates trust the exchange, and no other server.
	for store in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
		if [ -e "$store" ]; then mount --bind "$ca" "$store"; fi
	done
	# A session of its own: Ctrl-C ends the program, which may cancel its orders before the exchange ends.
	(cd "$dir" && exec setsid "$tickhive" serve --config tickhive.toml --demo-key key.json >serve.log 2>&1) &
	exchange=$!
	echo $exchange >"$dir/pid"
	trap 'kill $exchange 2>/dev/null || true; wait $exchange || true; rm -f "$dir/pid"' EXIT
	trap : INT
	if ! "$tickhive" ready 127.0.0.1:8080 --wait 60s >/dev/null || ! kill -0 $exchange; then
		echo "$0: the exchange did not start; the end of $dir/serve.log:" >&2
		tail -n 5 "$dir/serve.log" >&2
		exit 1
	fi
fi

# Go, OpenSSL, Python and curl; Python's requests and websocket-client; Node; Deno.
export SSL_CERT_FILE="$ca" CURL_CA_BUNDLE="$ca" REQUESTS_CA_BUNDLE="$ca" WEBSOCKET_CLIENT_CA_BUNDLE="$ca"
export NODE_EXTRA_CA_CERTS="$ca" DENO_CERT="$ca"
"$@"
