// Command book follows one order book for a while and prints its touch.
//
//	go run ./client/examples/book -base http://127.0.0.1:8080 -pair BTC_USDT -updates 5
package main
