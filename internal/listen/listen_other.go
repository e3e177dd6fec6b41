//go:build !linux

package listen

import "net"

// listenTCP opens a listener at HOST:PORT.
func listenTCP(address string) (net.Listener, error) { return net.Listen("tcp", address) }
