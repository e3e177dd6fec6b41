package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

// At SIGHUP each reloadable part is reloaded. A part that fails logs the reason and stays
// unchanged.
func TestAHangupReloads(t *testing.T) {
	log := &harness.Output{}
	r := reloads{log: slog.New(slog.NewTextHandler(log, nil))}
	calls := 0
	r.list = []reloader{
		{"certificates", func() (bool, error) { calls++; return true, nil }},
		{"copies", func() (bool, error) { return false, nil }},
		{"key", func() (bool, error) { return false, errors.New("no such file") }},
	}
	signals := make(chan os.Signal)
	end := r.follow(processSignals{reload: signals})
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	end()
	if calls != 2 {
		t.Errorf("reloaded %d times", calls)
	}
	for _, want := range []string{
		"msg=reloaded signal=hangup what=certificates",
		`msg="nothing to reload: the files have the content that is in force" signal=hangup what=copies`,
		`msg="reload failed; keeping the old content" signal=hangup what=key error="no such file"`,
	} {
		if strings.Count(log.String(), want) != 2 {
			t.Errorf("%q is not there twice: %s", want, log.String())
		}
	}
}
