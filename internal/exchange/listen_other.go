//go:build !linux

package exchange

import "net"

// listenTCP opens a listener at HOST:PORT.
func listenTCP(address string) (net.Listener, error) { return net.Listen("tcp", address) }
