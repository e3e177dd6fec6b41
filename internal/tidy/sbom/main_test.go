package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The document names the toolchain, every linked module with its sum and the vendored files, once each; equal
// programs give equal bytes.
func TestADocumentNamesModulesAndVendoredFiles(t *testing.T) {
	exe, err := os.Executable() // before the change of the folder
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run([]string{exe}, out); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != second.String() {
		t.Error("two documents of one program differ")
	}
	var doc document
	if err := json.Unmarshal(first.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Spec != "1.6" || doc.Metadata.Component.Version == "" {
		t.Errorf("%+v", doc.Metadata)
	}
	versions := map[string]string{}
	for _, c := range doc.Components {
		if _, twice := versions[c.Ref]; twice || c.Version == "" || c.Name == "" {
			t.Errorf("a component without version or twice: %+v", c)
		}
		versions[c.Name] = c.Version
		if strings.HasPrefix(c.Ref, "pkg:golang/github.com/") && (len(c.Properties) != 1 ||
			!strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("a module without a sum: %+v", c)
		}
	}
	if versions["swagger-ui-dist"] != "5.35.0" || versions["TradingView Lightweight Charts"] != "5.2.1" {
		t.Errorf("the vendored files: %v", versions)
	}
	if versions["std"] == "" {
		t.Errorf("no toolchain: %v", versions)
	}
}

// What is no Go program is refused.
func TestWhatIsNoProgramIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}, {"main.go"}, {"missing"}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: taken", args)
		}
	}
}
