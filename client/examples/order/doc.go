// Command order places an order far from the market, shows the balances and cancels it.
//
//	PUBLIC=... PRIVATE=... go run ./client/examples/order -base http://127.0.0.1:8080
package main
