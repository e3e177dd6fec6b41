package client

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The tests of the JavaScript class pass, file by file.
func TestJavaScriptClass(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("TICKHIVE_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skip("no node: not run (TICKHIVE_STRICT=1 makes this an error)")
	}
	files, err := filepath.Glob("js/*_test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests: %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), "node", name).CombinedOutput(); err != nil {
				t.Errorf("%v\n%.4000s", err, out)
			}
		})
	}
}
