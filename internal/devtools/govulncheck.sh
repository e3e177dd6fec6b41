#!/usr/bin/env bash
# Runs govulncheck, whose module and version are $1, over the packages that follow. Exit codes:
#
#	0  no known vulnerability is called
#	3  known vulnerabilities are called
#	4  the database or the tool cannot be reached: nothing was checked
#	1  another failure
set -uo pipefail
cd "$(dirname "$0")/../.."
tool=$1
shift
text=$("${GO:-go}" run "$tool" "$@" 2>&1)
code=$?
printf '%s\n' "$text"
unreachable='no such host|dial tcp|connection refused|i/o timeout|network is unreachable|TLS handshake|proxyconnect|403 Forbidden'
case $code in
0) exit 0 ;;
*)
	if grep -qE "$unreachable" <<<"$text"; then
		echo "govulncheck: the vulnerability database cannot be reached: nothing was checked (exit 4)"
		exit 4
	fi
	if grep -qE '^Vulnerability #|exit status 3' <<<"$text"; then
		echo "govulncheck: known vulnerabilities are called (exit 3)"
		exit 3
	fi
	echo "govulncheck: failed"
	exit 1
	;;
esac
