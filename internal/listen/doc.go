// Package listen opens the sockets of an exchange: at a TCP address, with options that its connections inherit, or at
// the path of a unix socket that is for this user alone. Kept keeps sockets open over the phases of a process.
//
// Owner: any goroutine may call everything.
package listen
