//go:build unix

package stream

import (
	"errors"
	"syscall"
)

const canWriteOnce = true

// writeOnce writes once to a non-blocking descriptor; a peer that accepts nothing is no error.
func writeOnce(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		default:
			return 0, err
		}
	}
}
