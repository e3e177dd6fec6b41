package main

import "tickhive/server"

// wireInternal adds what the internal listener serves beyond order entry.
func (x *exchange) wireInternal(o *server.InternalOptions) {
}
