package tidy

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// THIRD_PARTY_NOTICES names every module that go list finds in the program, with its
// licence, and every vendored file of the page.
func TestNotices(t *testing.T) {
	parts, err := Parts(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 20 {
		t.Fatalf("only %d parts were found", len(parts))
	}
	want, name := Notices(parts), filepath.Join(root, "THIRD_PARTY_NOTICES")
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("THIRD_PARTY_NOTICES is not what the program contains: " +
			"run go test ./internal/tidy -run TestNotices -update and look at the difference")
	}
}

// Every file below a folder of vendored files is in a row of the table.
func TestVendoredFilesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, v := range vendored {
		for _, name := range append(append([]string(nil), v.files...), v.licences...) {
			listed[name] = true
		}
	}
	own := map[string]bool{"server/web/swagger/index.html": true}
	for _, pattern := range []string{"server/web/swagger/*", "server/web/app/vendor/*"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			if rel = filepath.ToSlash(rel); !listed[rel] && !own[rel] {
				t.Errorf("%s is not in the table of internal/tidy/notices.go", rel)
			}
		}
	}
}

func TestNoticesPrintEachTextOnce(t *testing.T) {
	got := string(Notices([]Part{{"a", "v1", []string{"Text  one\n", "two"}}, {"b", "v2", []string{"Text one"}}}))
	if strings.Count(got, "[1]") != 3 || strings.Count(got, "[2]") != 2 ||
		!strings.Contains(got, "  b v2\n    texts: [1]\n") {
		t.Error(got)
	}
}
