package tidy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Part is a work by others that the program contains: a linked Go module, or a vendored file of the market
// page.
type Part struct {
	Name, Version string
	Texts         []string // complete texts of licences and notices
}

// vendored lists the vendored front-end files. Witness is a text in the first file that contains the version,
// so that replacing the file requires a new row. The first file of a font, which is binary, declares it.
var vendored = []struct {
	name, version, witness string
	files, licences        []string
}{
	{
		"TradingView Lightweight Charts", "5.2.1", "Lightweight Charts™ v5.2.1",
		[]string{"server/web/app/vendor/lightweight-charts.mjs"},
		[]string{"server/web/app/vendor/lightweight-charts.LICENSE"},
	},
	{
		"Inter", "4.001", "Inter 4.001",
		[]string{"server/web/src/inter.css", "server/web/app/vendor/inter.woff2"},
		[]string{"server/web/app/vendor/inter.LICENSE"},
	},
	{
		"swagger-ui-dist", "5.35.0", `"5.35.0"`,
		[]string{
			"server/web/swagger/swagger-ui-bundle.js", "server/web/swagger/swagger-ui.css",
			"server/web/swagger/favicon-32x32.png",
		},
		[]string{"server/web/swagger/LICENSE", "server/web/swagger/NOTICE"},
	},
}

// licenceFile matches the names of licence files. ftl.txt is the FreeType licence, one of two between which
// golang/freetype lets users choose.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)[^/]*$|^licenses/ftl\.txt$`)

// Parts returns all works by others that cmd/tickhive contains, modules first, with their licence texts. It
// runs the go command, which must have the modules in its cache.
func Parts(root string) ([]Part, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}",
		"./cmd/tickhive")
	cmd.Dir = root
	// fixed, so that the list is the same on every machine
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	dirs := map[string]Part{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) == 3 && f[1] != "" {
			dirs[f[2]] = Part{Name: f[0], Version: f[1]}
		}
	}
	var parts []Part
	for dir, p := range dirs {
		if p.Texts, err = licences(dir); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	sort.Slice(parts, func(i, j int) bool { return parts[i].Name < parts[j].Name })
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	std, err := licences(strings.TrimSpace(string(goroot)))
	if err != nil {
		return nil, err
	}
	parts = append(parts, Part{
		Name:    "Go standard library and runtime",
		Version: "of the toolchain that builds the program", Texts: std,
	})
	return appendVendored(parts, root)
}

// Vendored returns the vendored front-end files, without the Go modules.
func Vendored(root string) ([]Part, error) { return appendVendored(nil, root) }

func appendVendored(parts []Part, root string) ([]Part, error) {
	for _, v := range vendored {
		body, err := os.ReadFile(filepath.Join(root, v.files[0]))
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(body, []byte(v.witness)) {
			return nil, fmt.Errorf("%s does not name version %s: correct the row in internal/tidy/notices.go",
				v.files[0], v.version)
		}
		p := Part{Name: v.name, Version: v.version + " (" + strings.Join(v.files, ", ") + ")"}
		for _, name := range v.licences {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			p.Texts = append(p.Texts, string(text))
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// licences returns the licence texts of a module, or an error when it has none.
func licences(dir string) (texts []string, err error) {
	for _, pattern := range []string{"*", "licenses/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			rel, err := filepath.Rel(dir, name)
			if err != nil || !licenceFile.MatchString(filepath.ToSlash(rel)) {
				continue
			}
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			texts = append(texts, string(text))
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s states no licence", path.Base(dir))
	}
	return texts, nil
}

// Notices returns the text of THIRD_PARTY_NOTICES: a table of the parts, then each licence text once.
func Notices(parts []Part) []byte {
	number := map[[sha256.Size]byte]int{}
	var table, texts bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&table, "  %s %s\n    texts:", p.Name, p.Version)
		for _, text := range p.Texts {
			text = tidyText(text)
			sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
			if number[sum] == 0 {
				number[sum] = len(number) + 1
				fmt.Fprintf(&texts, "\n%s\n[%d]\n\n%s\n", strings.Repeat("-", 80), number[sum], text)
			}
			fmt.Fprintf(&table, " [%d]", number[sum])
		}
		table.WriteString("\n")
	}
	return []byte("TickHive contains the following works of others. The numbers name the licence texts below.\n" +
		"This file is written by: go test ./internal/tidy -run TestNotices -update\n\n" + table.String() +
		texts.String())
}

// tidyText removes differences between systems: carriage returns and blanks at line ends.
func tidyText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
