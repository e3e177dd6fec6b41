#!/bin/sh
# Makes vectors.tsv with openssl alone: private key, timestamp, nonce, method, target,
# body, signature, separated by tabs. Run it in this folder: sh vectors.sh > vectors.tsv
set -eu
T='	'
sign() { # key timestamp nonce method target body
	hash=$(printf '%s' "$6" | openssl dgst -sha256 -r | cut -d' ' -f1)
	sig=$(printf '%s\n%s\n%s\n%s\n%s' "$2" "$3" "$4" "$5" "$hash" | openssl dgst -sha256 -hmac "$1" -r | cut -d' ' -f1)
	printf '%s\n' "$1$T$2$T$3$T$4$T$5$T$6$T$sig"
}
K=privKEY456
L=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZab
M=${L}longer-than-one-block-of-the-hash
sign "$K" 1767225600000 n-1 GET '/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T' ''
sign "$K" 1767225600000 n-2 POST /api/launchpad/spawn '{"name":"My Token","symbol":"ALPHA"}'
sign "$K" 1767225600001 a DELETE /api/apikeys/abc ''
sign "$K" 1767225600001 a GET /ws ''
sign "$K" 1767225604999 A_b-9 GET '/api/user/orders?currencyPairCode=BTC_USDT&status=all' ''
sign "$L" 1767225600000 0123456789012345678901234567890123456789012345678901234567890123 POST /api/orders '{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.5","price":65000.50}'
sign "$L" 1767225600000 body-space POST /api/orders '  { "side" : "sell" }  '
sign "$L" 1767225600000 utf8 POST /api/apikeys '{"name":"Ключ"}'
sign "$M" 1767225600000 long-key PATCH '/api/%2F?x=1&&y=' ' '
sign "$M" 4102444800000 late GET / ''
