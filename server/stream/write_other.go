//go:build !unix

package stream

const canWriteOnce = false

// writeOnce is never called on systems whose descriptors are not files.
func writeOnce(uintptr, []byte) (int, error) { return 0, nil }
