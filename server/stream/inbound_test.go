package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// clientFrame returns a masked frame.
func clientFrame(final bool, op byte, payload string) []byte {
	mask := [4]byte{0x11, 0x22, 0x33, 0x44}
	b := []byte{op}
	if final {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, mask[:]...)
	at := len(b)
	b = append(b, payload...)
	unmask(b[at:], mask)
	return b
}

// reading is an inbound over fixed bytes.
type reading struct {
	inbound
	nowNs int64
	pings []string
	pongs int
}

func newReading(frames ...[]byte) *reading {
	r := &reading{}
	r.inbound = inbound{
		in:   bufio.NewReader(bytes.NewReader(bytes.Join(frames, nil))),
		now:  func() int64 { return r.nowNs },
		ping: func(data []byte) error { r.pings = append(r.pings, string(data)); return nil },
		pong: func() { r.pongs++ },
	}
	return r
}

// code returns the close code with which a message ends the connection, 0 for a message.
func (r *reading) code(t *testing.T) int {
	t.Helper()
	_, _, err := r.next()
	var v *violation
	if errors.As(err, &v) {
		return v.code
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// A message arrives whole, in one frame or in fragments with control frames between them.
func TestMessagesArriveWhole(t *testing.T) {
	long := strings.Repeat("é", 30_000)
	r := newReading(clientFrame(true, opText, `{"op":"ping"}`),
		clientFrame(false, opText, long[:1]), clientFrame(true, opPing, "between"),
		clientFrame(false, opContinuation, long[1:50_000]), clientFrame(true, opPong, ""),
		clientFrame(true, opContinuation, long[50_000:]),
		clientFrame(true, opBinary, "\xff"), clientFrame(true, opClose, "\x03\xe8bye"))
	for _, want := range []struct {
		message string
		text    bool
	}{{`{"op":"ping"}`, true}, {long, true}, {"\xff", false}} {
		if got, text, err := r.next(); string(got) != want.message || text != want.text || err != nil {
			t.Errorf("%.20q %v %v, want %.20q", got, text, err, want.message)
		}
	}
	if _, _, err := r.next(); !errors.Is(err, peerClosed{}) {
		t.Errorf("after a close frame: %v", err)
	}
	if len(r.pings) != 1 || r.pings[0] != "between" || r.pongs != 1 {
		t.Errorf("pings %q, %d pongs", r.pings, r.pongs)
	}
	if _, _, err := newReading(clientFrame(false, opText, "cut")[:7]).next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame that is cut short: %v", err)
	}
}

// A connection may send 200 control frames and empty frames in a second; one more ends it.
func TestControlAndEmptyFramesAreCounted(t *testing.T) {
	for name, f := range map[string][]byte{
		"pings":           clientFrame(true, opPing, "x"),
		"pongs":           clientFrame(true, opPong, ""),
		"empty messages":  clientFrame(true, opText, ""),
		"empty fragments": append(clientFrame(false, opText, ""), clientFrame(true, opContinuation, "x")...),
	} {
		within := bytes.Repeat(f, maxFramesPerSecond)
		end := clientFrame(true, opText, "end")
		until := func(r *reading) (string, error) {
			for {
				if m, _, err := r.next(); err != nil || string(m) == "end" {
					return string(m), err
				}
			}
		}
		r := newReading(within, end, within, end, f, end)
		for second := range 2 {
			r.nowNs = int64(second) * int64(time.Second)
			if _, err := until(r); err != nil {
				t.Errorf("%s: %d in second %d: %v", name, maxFramesPerSecond, second, err)
			}
		}
		var v *violation
		if _, err := until(r); !errors.As(err, &v) || v.code != closePolicy {
			t.Errorf("%s: one more: %v", name, err)
		}
	}
}

// A message has at most 128 fragments.
func TestFragmentsAreCounted(t *testing.T) {
	frames := func(n int) [][]byte {
		all := [][]byte{clientFrame(false, opText, "a")}
		for len(all) < n-1 {
			all = append(all, clientFrame(false, opContinuation, "a"))
		}
		return append(all, clientFrame(true, opContinuation, "a"))
	}
	if m, _, err := newReading(frames(maxFragments)...).next(); err != nil || len(m) != maxFragments {
		t.Errorf("%d fragments: %d bytes, %v", maxFragments, len(m), err)
	}
	if code := newReading(frames(maxFragments + 1)...).code(t); code != closePolicy {
		t.Errorf("%d fragments: code %d, want %d", maxFragments+1, code, closePolicy)
	}
}

// What breaks the protocol ends the connection with its own code.
func TestViolationsHaveTheirCode(t *testing.T) {
	masked := clientFrame(true, opText, "x")
	unmasked := append([]byte{masked[0], 1}, 'x')
	rsv := bytes.Clone(masked)
	rsv[0] |= 0x40
	for name, c := range map[string]struct {
		frames [][]byte
		code   int
	}{
		"not UTF-8":                  {[][]byte{clientFrame(true, opText, "\xff\xfe")}, closeInvalidText},
		"UTF-8 cut by the end":       {[][]byte{clientFrame(true, opText, "\xc3")}, closeInvalidText},
		"a surrogate":                {[][]byte{clientFrame(true, opText, "\xed\xa0\x80")}, closeInvalidText},
		"unmasked":                   {[][]byte{unmasked}, closeProtocol},
		"a reserved bit":             {[][]byte{rsv}, closeProtocol},
		"opcode 3":                   {[][]byte{clientFrame(true, 3, "x")}, closeProtocol},
		"opcode 11":                  {[][]byte{clientFrame(true, 11, "x")}, closeProtocol},
		"a fragmented ping":          {[][]byte{clientFrame(false, opPing, "x")}, closeProtocol},
		"a long ping":                {[][]byte{clientFrame(true, opPing, strings.Repeat("x", 126))}, closeProtocol},
		"an orphan fragment":         {[][]byte{clientFrame(true, opContinuation, "x")}, closeProtocol},
		"a message inside a message": {[][]byte{clientFrame(false, opText, "x"), masked}, closeProtocol},
		"a length of 2^63":           {[][]byte{{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0}}, closeProtocol},
		"a length of 2^62":           {[][]byte{{0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}}, closeTooBig},
		"close with one byte":        {[][]byte{clientFrame(true, opClose, "\x03")}, closeProtocol},
		"close with 999":             {[][]byte{clientFrame(true, opClose, "\x03\xe7")}, closeProtocol},
		"close with 1005":            {[][]byte{clientFrame(true, opClose, "\x03\xed")}, closeProtocol},
		"close without UTF-8":        {[][]byte{clientFrame(true, opClose, "\x03\xe8\xff")}, closeInvalidText},
	} {
		if code := newReading(c.frames...).code(t); code != c.code {
			t.Errorf("%s: code %d, want %d", name, code, c.code)
		}
	}
	if _, _, err := newReading(clientFrame(true, opClose, "\x0b\xb8app")).next(); !errors.Is(err, peerClosed{}) {
		t.Errorf("close with 3000: %v", err)
	}
}

// No bytes of a client make the reader panic, exceed a limit or accept text that is not UTF-8.
func FuzzInboundFrames(f *testing.F) {
	f.Add(clientFrame(true, opText, `{"op":"list"}`))
	f.Add(append(clientFrame(false, opText, "a"), clientFrame(true, opContinuation, "é")...))
	f.Add(append(clientFrame(true, opPing, "p"), clientFrame(true, opClose, "\x03\xe8")...))
	f.Add([]byte{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := newReading(sent)
		for {
			m, text, err := r.next()
			if len(r.pings)+r.pongs > maxFramesPerSecond {
				t.Fatalf("%d pings and %d pongs in a second", len(r.pings), r.pongs)
			}
			if err != nil {
				return
			}
			if len(m) > maxMessageBytes || text && !utf8.Valid(m) {
				t.Fatalf("a message of %d bytes, text %v", len(m), text)
			}
		}
	})
}
