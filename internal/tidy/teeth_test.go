package tidy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every planted bug of test/teeth fits the tree, and the test that it names is there: .ci/teeth plants them.
func TestPlantedBugsFitTheTree(t *testing.T) {
	patches, err := filepath.Glob(filepath.Join(root, "test/teeth/*.patch"))
	if err != nil || len(patches) < 60 {
		t.Fatalf("%d patches, %v", len(patches), err)
	}
	form := regexp.MustCompile(`(?m)\A([A-Z].*\.)\n\nGuard: (\./\S+) -run \^(Test\w+)\$\n\ndiff --git a/(\S+) `)
	for _, patch := range patches {
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		m := form.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s: the form is: a sentence, an empty line, Guard: ./package -run ^TestName$, "+
				"an empty line, the diff", filepath.Base(patch))
			continue
		}
		if !hasTest(t, filepath.Join(root, m[2]), m[3]) {
			t.Errorf("%s: %s has no %s", filepath.Base(patch), m[2], m[3])
		}
		name, err := filepath.Abs(patch)
		if err != nil {
			t.Fatal(err)
		}
		check := exec.Command("git", "apply", "--check", name)
		check.Dir = root
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not fit %s any more: plant the bug there again\n%s", filepath.Base(patch), m[4], said)
		}
	}
}

// hasTest reports whether a test file of a folder has a test.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
