package tidy

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Page is one Markdown file of the tree.
type Page struct {
	Path    string // path from the root, with slashes
	Lines   []string
	anchors map[string]bool
}

var (
	mdLink   = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)
	mdHead   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	mdAnchor = regexp.MustCompile(`<a id="([^"]+)"`)
	mdCode   = regexp.MustCompile("`[^`]*`")
	docRef   = regexp.MustCompile(`docs/[A-Za-z0-9_./-]+\.md(?:#[A-Za-z0-9_-]+)?`)
)

// ParsePage returns the Page of a Markdown text, without fenced and indented code, which contains neither links
// nor prose.
func ParsePage(name, text string) *Page {
	p := &Page{Path: name, anchors: map[string]bool{}}
	fenced, blank := false, true
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced, line = !fenced, ""
		case fenced, blank && strings.HasPrefix(line, "    "):
			line = ""
		default:
			blank = strings.TrimSpace(line) == ""
		}
		p.Lines = append(p.Lines, line)
		if m := mdHead.FindStringSubmatch(line); m != nil {
			p.addAnchor(slug(m[1]))
		}
		for _, m := range mdAnchor.FindAllStringSubmatch(line, -1) {
			p.addAnchor(m[1])
		}
	}
	return p
}

// addAnchor adds an anchor. A repeated one gets a number, as on GitHub.
func (p *Page) addAnchor(name string) {
	unique := name
	for i := 1; p.anchors[unique]; i++ {
		unique = name + "-" + strconv.Itoa(i)
	}
	p.anchors[unique] = true
}

// slug returns the anchor of a heading, as on GitHub.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Tree resolves references between files.
type Tree struct {
	Root  string
	Pages map[string]*Page // by path
}

// Links reports relative links and anchors of a page whose target does not exist.
func (t *Tree) Links(p *Page) (out []string) {
	for i, line := range p.Lines {
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(line, ""), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			where := p.Path
			if file != "" {
				where = path.Join(path.Dir(p.Path), file)
			}
			if wrong := t.resolve(where, anchor); wrong != "" {
				out = append(out, fmt.Sprintf("%s:%d: %s: %s", p.Path, i+1, target, wrong))
			}
		}
	}
	return out
}

// References reports references docs/...#anchor in the comments of a Go file whose target does not exist.
func (t *Tree) References(f *File) (out []string) {
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			for _, ref := range docRef.FindAllString(c.Text, -1) {
				file, anchor, _ := strings.Cut(ref, "#")
				if wrong := t.resolve(file, anchor); wrong != "" {
					out = append(out, f.at(c.Pos())+": "+ref+": "+wrong)
				}
			}
		}
	}
	return out
}

// namedPages lists the pages that name files and declarations of the code.
var namedPages = []string{"ARCHITECTURE.md", "docs/internals/", "docs/operating.md"}

var (
	mdFile  = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|md|json))(?::([A-Za-z0-9_]+))?`")
	mdDecl  = `(?m)^(?:func (?:\([^)]*\) )?|type |\t)%s\b`
	anyFile = regexp.MustCompile(`^[a-z0-9_]+\.(go|md)$`)
)

// CodePaths reports code spans of a page, such as `engine/loop.go:run`, that name a file or a declaration that
// does not exist. A name without a folder belongs to the last folder named on the line.
func (t *Tree) CodePaths(p *Page) (out []string) {
	if !slices.ContainsFunc(namedPages, func(prefix string) bool { return strings.HasPrefix(p.Path, prefix) }) {
		return nil
	}
	for i, line := range p.Lines {
		dir := ""
		for _, m := range mdFile.FindAllStringSubmatch(line, -1) {
			name := m[1]
			if anyFile.MatchString(name) && name != "doc.go" {
				name = path.Join(dir, name)
			}
			dir = path.Dir(name)
			text, err := os.ReadFile(filepath.Join(t.Root, name))
			switch {
			case name == "doc.go", name == "meta.json": // doc.go is in every folder, meta.json in a data directory
			case err != nil:
				out = append(out, fmt.Sprintf("%s:%d: there is no %s", p.Path, i+1, name))
			case m[2] != "" && !regexp.MustCompile(fmt.Sprintf(mdDecl, m[2])).Match(text):
				out = append(out, fmt.Sprintf("%s:%d: %s declares no %s", p.Path, i+1, name, m[2]))
			}
		}
	}
	return out
}

// resolve returns what is wrong with a reference, "" when it is valid.
func (t *Tree) resolve(file, anchor string) string {
	page := t.Pages[file]
	switch {
	case page == nil && strings.HasSuffix(file, ".md"):
		return "there is no such page"
	case page == nil:
		if _, err := os.Stat(filepath.Join(t.Root, file)); err != nil || strings.HasPrefix(file, "..") {
			return "there is no such file"
		}
	case anchor != "" && !page.anchors[anchor]:
		return "the page has no such heading or anchor"
	}
	return ""
}
