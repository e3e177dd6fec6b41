#!/bin/sh
# Sends one signed request and prints the answer.
#
#   BASE=http://127.0.0.1:8080 PUBLIC=... PRIVATE=... client/sign.sh METHOD TARGET [BODY]
#   client/sign.sh GET /api/wallets/balances
#   client/sign.sh POST /api/orders '{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.001","price":"100"}'
#
# Needs curl, openssl and GNU date. The private key stands on openssl's command line for a
# moment: use a program of your own on a machine that others share.
set -eu
method=$1 target=$2 body=${3-}
timestamp=$(date +%s%3N)
nonce=$(openssl rand -hex 16)
hash=$(printf %s "$body" | openssl dgst -sha256 -hex | sed 's/^.* //')
signature=$(printf '%s\n%s\n%s\n%s\n%s' "$timestamp" "$nonce" "$method" "$target" "$hash" |
	openssl dgst -sha256 -hmac "$PRIVATE" -hex | sed 's/^.* //')
set -- -sS --fail-with-body -X "$method" -H "API-PublicKey: $PUBLIC" -H "API-Timestamp: $timestamp" \
	-H "API-Nonce: $nonce" -H "API-Signature: $signature"
if [ -n "$body" ]; then
	set -- "$@" -H 'Content-Type: application/json' -d "$body"
fi
exec curl "$@" "${BASE:-http://127.0.0.1:8080}$target"
