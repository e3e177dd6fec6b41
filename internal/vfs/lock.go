package vfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// Owner says who holds a lock. It is written into the lock file as three lines.
type Owner struct {
	PID     int    // process
	Host    string // machine
	SinceNs int64  // Unix nanoseconds
}

// Self returns this process as an owner that starts now.
func Self() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{PID: os.Getpid(), Host: host, SinceNs: clock.Real{}.NowNs()}
}

// LockedError is the refusal of a lock that another holder has.
type LockedError struct {
	Path  string
	Owner Owner // zero when the holder has not written it yet
}

// Error names path, process, host and time.
func (e *LockedError) Error() string {
	if e.Owner.PID == 0 {
		return fmt.Sprintf("%s is held by another process", e.Path)
	}
	since := time.Unix(0, e.Owner.SinceNs).UTC().Format("2006-01-02T15:04:05Z")
	return fmt.Sprintf("%s is held by process %d on host %s since %s", e.Path, e.Owner.PID, e.Owner.Host, since)
}

func (o Owner) text() []byte {
	return fmt.Appendf(nil, "pid %d\nhost %s\nsince %d\n", o.PID, o.Host, o.SinceNs)
}

func parseOwner(b []byte) (o Owner) {
	for line := range strings.Lines(string(b)) {
		key, val, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "pid":
			o.PID, _ = strconv.Atoi(val)
		case "host":
			o.Host = val
		case "since":
			o.SinceNs, _ = strconv.ParseInt(val, 10, 64)
		}
	}
	return o
}
