// Command maker is a small market maker: it keeps one order at the best bid and one at the best ask, follows the market
// with them, and knows its position from its private stream. It ends after some fills, or on an interrupt, without open
// orders.
//
//	PUBLIC=... PRIVATE=... go run ./client/examples/maker -base http://127.0.0.1:8080 -pair BTC_USDT -fills 10
package main
