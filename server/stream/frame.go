package stream

import "encoding/binary"

// WebSocket opcodes and close codes (RFC 6455) that the streams use.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA

	closeNormal      = 1000
	closeGoingAway   = 1001
	closeProtocol    = 1002
	closeInvalidText = 1007
	closePolicy      = 1008
	closeTooBig      = 1009
	closeTryLater    = 1013
)

// frame is one whole server frame, header and payload. Immutable: every connection that
// receives the message shares the frame.
type frame []byte

// newFrame returns payload behind the unmasked header of a server frame.
func newFrame(op byte, payload []byte) frame {
	f := make([]byte, 0, len(payload)+10)
	f = append(f, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		f = append(f, byte(n))
	case n <= 0xffff:
		f = binary.BigEndian.AppendUint16(append(f, 126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 127), uint64(n))
	}
	return append(f, payload...)
}

// closeFrame returns a close frame with a code and a short reason.
func closeFrame(code int, reason string) frame {
	p := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(reason)), uint16(code))
	return newFrame(opClose, append(p, reason...))
}

// payload returns the bytes behind the header.
func (f frame) payload() []byte {
	switch f[1] {
	case 126:
		return f[4:]
	case 127:
		return f[10:]
	default:
		return f[2:]
	}
}
