#!/bin/sh
# Sends one signed request and prints the answer.
#
#   BASE=http://127.0.0.1:8080 PUBLIC=... PRIVATE=... client/sign.sh METHOD TARGET [BODY]
#   client/sign.sh GET /api/wallets/balances
#   client/sign.sh POST /api/orders '{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.001","price":"100"}'
#
# For an Ed25519 or RSA key PRIVATE_FILE names the file of the private key in place of PRIVATE:
#
#   openssl genpkey -algorithm ed25519 -out key.pem
#   openssl pkey -in key.pem -pubout -outform DER | tail -c 32 | base64    # ed25519PublicKey
#   openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:2048 -out key.pem
#   openssl pkey -in key.pem -pubout                                         # rsaPublicKey
#
# Needs curl and openssl. A PRIVATE is on openssl's command line for a moment: use an
# Ed25519 or RSA key, or a program of your own, on a machine that others share.
set -eu
if [ $# -lt 2 ]; then
	echo "usage: BASE=URL PUBLIC=KEY PRIVATE=SECRET $0 METHOD TARGET [BODY]" >&2
	exit 2
fi
: "${PUBLIC:?set PUBLIC to the public key}" "${PRIVATE_FILE:-${PRIVATE:?set PRIVATE, or PRIVATE_FILE for an Ed25519 or RSA key}}"
method=$1 target=$2 body=${3-} base=${BASE:-http://127.0.0.1:8080}
# The time is the exchange's: that of a recording or of a virtual clock is another one than this machine's.
time=$(curl -sS --fail-with-body "$base/api/time") || { printf '%s\n' "$time" >&2; exit 1; }
timestamp=$(printf %s "$time" | sed -n 's/.*"serverTime":\([0-9]*\).*/\1/p')
nonce=$(openssl rand -hex 16)
hash=$(printf %s "$body" | openssl dgst -sha256 -hex | sed 's/^.* //')
text=$(printf '%s\n%s\n%s\n%s\n%s' "$timestamp" "$nonce" "$method" "$target" "$hash")
if [ -n "${PRIVATE_FILE-}" ]; then
	file=$(mktemp)
	trap 'rm -f "$file"' EXIT
	printf %s "$text" >"$file" # openssl signs with Ed25519 from a file only
	signature=$(openssl pkeyutl -sign -inkey "$PRIVATE_FILE" -rawin -in "$file" | od -An -v -tx1 | tr -d ' \n')
else
	signature=$(printf %s "$text" | openssl dgst -sha256 -hmac "$PRIVATE" -hex | sed 's/^.* //')
fi
set -- -sS --fail-with-body -w '\n' -X "$method" -H "API-PublicKey: $PUBLIC" -H "API-Timestamp: $timestamp" \
	-H "API-Nonce: $nonce" -H "API-Signature: $signature"
if [ -n "$body" ]; then
	set -- "$@" -H 'Content-Type: application/json' -d "$body"
fi
curl "$@" "$base$target"
