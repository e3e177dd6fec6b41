//go:build !unix

package stream

const canWriteOnce = false

// writeOnce is never called: on these systems sockets are no file descriptors.
func writeOnce(uintptr, []byte) (int, error) { return 0, nil }
