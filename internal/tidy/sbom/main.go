package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/tidy"
)

type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: sbom PROGRAM > FILE")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	vendored, err := tidy.Vendored(".")
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(describe(filepath.Base(args[0]), info, vendored))
}

// describe returns the document of a program.
func describe(name string, info *debug.BuildInfo, vendored []tidy.Part) document {
	doc := document{Format: "CycloneDX", Spec: "1.6", Version: 1}
	doc.Metadata.Component = component{Type: "application", Ref: name, Name: name, Version: cmdline.Version}
	version := strings.TrimPrefix(info.GoVersion, "go")
	doc.Components = append(doc.Components, component{
		Type: "library", Ref: "std", Name: "std", Version: version, PURL: "pkg:golang/std@" + version,
	})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		doc.Components = append(doc.Components, c)
	}
	for _, p := range vendored {
		version, files, _ := strings.Cut(p.Version, " ")
		ref := "vendored:" + p.Name + "@" + version
		doc.Components = append(doc.Components, component{
			Type: "library", Ref: ref, Name: p.Name, Version: version,
			Properties: []property{{"vendored:files", strings.Trim(files, "()")}},
		})
	}
	slices.SortFunc(doc.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return doc
}
