package harness

import (
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// SourceTree is the folder in which the examples run, as for their readers.
const SourceTree = "../.."

// ReadTree returns the text of a file of the source tree.
func ReadTree(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(SourceTree, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// NeedTool returns a program of others, or skips the test, which TICKHIVE_STRICT=1 forbids.
func NeedTool(t *testing.T, name string) string {
	t.Helper()
	tool, err := exec.LookPath(name)
	if err != nil {
		lacks(t, err)
	}
	return tool
}

// lacks skips a test for what the machine does not have, which TICKHIVE_STRICT=1 forbids.
func lacks(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("TICKHIVE_STRICT") == "1" {
		t.Fatal(err)
	}
	t.Skipf("%v (TICKHIVE_STRICT=1 makes this an error)", err)
}

// Long leaves a test that takes long to make cluster and make soak, unless -run or -skip chooses the tests.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("TICKHIVE_LONG") != "1" && os.Getenv("TICKHIVE_SOAK") != "1" && !Chosen() {
		t.Skip("left to make cluster: TICKHIVE_LONG=1 runs it")
	}
}

// Chosen reports whether -run or -skip chooses the tests.
func Chosen() (yes bool) {
	flag.Visit(func(f *flag.Flag) { yes = yes || f.Name == "test.run" || f.Name == "test.skip" })
	return yes
}

// WriteConfig writes a configuration file and returns its name.
func WriteConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tickhive.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Recorded returns the absolute path of a file of the recorded markets, in shared/data beside the source tree. Without
// the file it skips the test, or fails it under TICKHIVE_STRICT=1.
func Recorded(t testing.TB, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(SourceTree, "..", "shared", "data", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		lacks(t, fmt.Errorf("recorded market is missing: %w", err))
	}
	return file
}

// Rows reads a compressed file of comma-separated rows.
func Rows(t *testing.T, name string) [][]string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(plain).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// RecordedTrades is a recording of three trades.
const RecordedTrades = `time,price,amount,side
2026-01-01T00:00:01Z,100.5,1.25,buy
2026-01-01T00:00:01.5Z,100.4,0.5,sell
2026-01-01T00:01:30Z,100.6,2,buy
`
