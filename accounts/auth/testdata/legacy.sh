#!/bin/sh
# Makes legacy.tsv with openssl alone: private key, public key, full URL, body, signature
# of the body as sent. Run it in this folder: sh legacy.sh > legacy.tsv
set -eu
T='	'
sign() { # private public url body
	sig=$(printf '%s%s%s' "$2" "$3" "$4" | openssl dgst -sha256 -hmac "$1" -r | cut -d' ' -f1)
	printf '%s\n' "$1$T$2$T$3$T$4$T$sig"
}
sign privKEY456 pubKEY123 'http://127.0.0.1:8080/api/affiliate/accruals?pageNumber=1' ''
sign privKEY456 pubKEY123 'https://exchange.example/api/apikeys' '{"name":"a b","canTrade":true}'
