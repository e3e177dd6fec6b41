// Package listen opens the sockets of an exchange: at a TCP address, with options that its connections inherit, or at
// the path of a unix socket that is for this user alone. Kept keeps sockets open over the phases of a process.
//
// Owner: any goroutine may call everything.
//
// Invariants:
//
//  1. No moment exists at which another user can connect to a unix socket, and only the socket itself is removed.
//  2. A connection that arrives between two phases waits in the queue of the system.
//
// It does not accept connections, limit them or read from them: server/edge does.
package listen
