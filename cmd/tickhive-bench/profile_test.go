package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tickhive/tickhive/bench/proc"
	"github.com/tickhive/tickhive/internal/cmdline"
)

// asProgram makes the test binary run main.
const asProgram = "TICKHIVE_BENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(start())
	}
	os.Exit(m.Run())
}

// A process with a CPU profile leaves a complete one, also a child of the bench, which is
// asked to end twice. Without a directory to write to, the process does not start.
func TestCPUProfileIsWhole(t *testing.T) {
	dir := t.TempDir()
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{asProgram + "=1", cmdline.ProfileEnv + "=" + dir}
	child, err := proc.Start(environ, self, "child", "constant", body)
	if err != nil {
		t.Fatal(err)
	}
	child.Stop()
	files, err := filepath.Glob(filepath.Join(dir, "tickhive-*.pprof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d profiles, want 1: %v", len(files), err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, z); err != nil || n == 0 {
		t.Errorf("%d bytes: %v", n, err)
	}
	if _, err := cmdline.StartProfile(filepath.Join(dir, "none")); err == nil {
		t.Error("a profile in no directory")
	}
}
