//go:build unix

package stream

import (
	"errors"
	"syscall"
)

const canWriteOnce = true

// writeOnce calls write once on a non-blocking descriptor. It is no error when the peer accepts nothing.
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
