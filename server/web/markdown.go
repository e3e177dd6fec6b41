package web

import (
	"bytes"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/tickhive/tickhive/docs"
)

const (
	// index is the file of a folder that lists its pages.
	index = "README.md"
	// exchangeAddress is the address of the exchange in the pages. A link to it is one to the reader's exchange.
	exchangeAddress = "http://127.0.0.1:8080"
)

// markdown renders what a code host renders: tables, anchors, HTML. The pages are those of the build, so their HTML
// is not filtered.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))

// parsed is a page before it is rendered. Owner: the goroutine that reads it.
type parsed struct {
	name   string // of its file in the folder docs
	source []byte
	root   ast.Node
}

func readPage(name string) *parsed {
	source, err := docs.Files.ReadFile(name)
	if err != nil {
		panic("BUG: " + err.Error()) // a constant of the build
	}
	return parsePage(name, source)
}

func parsePage(name string, source []byte) *parsed {
	context := parser.NewContext(parser.WithIDs(anchors{}))
	return &parsed{name, source, markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))}
}

// each calls f with each node of a kind, in order.
func each[N ast.Node](d *parsed, f func(n N)) {
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if one, ok := n.(N); ok && entering {
			f(one)
		}
		return ast.WalkContinue, nil
	})
}

// words returns the text of a node without its markup.
func (d *parsed) words(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(d.source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// title returns the text of the first heading.
func (d *parsed) title() (title string) {
	each(d, func(h *ast.Heading) {
		if title == "" {
			title = d.words(h)
		}
	})
	return title
}

// resolve returns where a link leads in the browser. It reports false for a file that the server does not show, with
// the file's path in the source tree.
func (d *parsed) resolve(link string) (to string, shown bool) {
	if local, found := strings.CutPrefix(link, exchangeAddress+"/"); found {
		return "/" + local, true
	}
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") {
		return link, true
	}
	file, anchor, found := strings.Cut(link, "#")
	file = path.Join(path.Dir(d.name), file)
	if _, err := fs.Stat(docs.Files, file); err != nil || path.Ext(file) != ".md" {
		return path.Join("docs", file), false
	}
	if found {
		anchor = "#" + anchor
	}
	return pagePath(file) + anchor, true
}

// links returns the headings of the second level with the pages that the text below them links to, each page once. The
// first entry, which has no title, has the links before them.
func (d *parsed) links() []entry {
	sections := []entry{{}}
	seen := map[string]bool{pagePath(d.name): true}
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering && n.Level == 2 {
				sections = append(sections, entry{Title: d.words(n)})
			}
		case *ast.Link:
			link, _, _ := strings.Cut(string(n.Destination), "#")
			to, shown := d.resolve(link)
			if !entering || !shown || seen[to] || !strings.HasPrefix(to, docsPath+"/") {
				break
			}
			seen[to] = true
			e := entry{Title: d.words(n), Path: to}
			if !strings.HasPrefix(link, exchangeAddress) {
				e.name = path.Join(path.Dir(d.name), link)
				e.Title = readPage(e.name).title()
			}
			section := &sections[len(sections)-1]
			section.Below = append(section.Below, e)
		}
		return ast.WalkContinue, nil
	})
	return sections
}

// rendered is a page without its shell. Owner: none; its fields do not change.
type rendered struct {
	Title    string
	Heading  template.HTML
	Sections []section // headings of the second level, none if there are few
	parts    []string  // of the text below the heading: those with an odd index are programs
}

// section is a heading and its anchor.
type section struct{ ID, Title string }

// manySections is the number of sections from which on a page begins with a list of them.
const manySections = 4

// render renders a document and moves its links to what the server shows.
func (d *parsed) render() *rendered {
	d.moveLinks()
	p := &rendered{Title: d.title()}
	each(d, func(h *ast.Heading) {
		if id, ok := h.AttributeString("id"); ok && h.Level == 2 {
			p.Sections = append(p.Sections, section{string(id.([]byte)), d.words(h)})
		}
	})
	if len(p.Sections) < manySections {
		p.Sections = nil
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, d.source, d.root); err != nil {
		panic("BUG: " + err.Error()) // a constant of the build
	}
	dressed := strings.NewReplacer("<th>", `<th scope="col">`, "<th ", `<th scope="col" `,
		"<table>", `<div class="wide"><table>`, "</table>", "</table></div>").Replace(b.String())
	heading, rest, found := strings.Cut(dressed, "</h1>\n")
	if !found {
		panic("BUG: docs/" + d.name + " has no heading")
	}
	p.Heading = template.HTML(heading + "</h1>\n")
	p.parts = split(rest, d.runs())
	return p
}

// moveLinks moves the links to what the server shows.
func (d *parsed) moveLinks() {
	var links []*ast.Link
	each(d, func(l *ast.Link) { links = append(links, l) })
	for _, l := range links {
		to, shown := d.resolve(string(l.Destination))
		if shown {
			l.Destination = []byte(to)
		} else {
			d.nameFile(l, to)
		}
	}
	var local []*ast.AutoLink
	each(d, func(l *ast.AutoLink) {
		if strings.HasPrefix(string(l.URL(d.source)), exchangeAddress+"/") {
			local = append(local, l)
		}
	})
	for _, l := range local {
		link := ast.NewLink()
		link.Destination = bytes.TrimPrefix(l.URL(d.source), []byte(exchangeAddress))
		link.AppendChild(link, ast.NewString(l.Label(d.source)))
		l.Parent().ReplaceChild(l.Parent(), l, link)
	}
}

// runs returns for each program (block of code) of the page whether a test runs it: its language is followed by run.
func (d *parsed) runs() (runs []bool) {
	each(d, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			runs = append(runs, n.Info != nil && slices.Contains(strings.Fields(string(n.Info.Value(d.source))), "run"))
		case *ast.CodeBlock:
			runs = append(runs, false)
		}
	})
	return runs
}

// split cuts text at its programs. The parts with an odd index are programs, the others the text between them.
func split(text string, runs []bool) (parts []string) {
	for _, run := range runs {
		before, after, _ := strings.Cut(text, "<pre>")
		program, rest, _ := strings.Cut(after, "</pre>")
		class := ""
		if run {
			class = ` class="run"`
		}
		parts = append(parts, before, "<pre"+class+` tabindex="0">`+program+"</pre>")
		text = rest
	}
	return append(parts, text)
}

// namesListener reports whether a program names the Binance-compatible listener.
func (p *rendered) namesListener() bool {
	for i, part := range p.parts {
		if i%2 == 1 && strings.Contains(part, programsAddress) {
			return true
		}
	}
	return false
}

// body returns the text below the heading. fill replaces the address in the programs; nil leaves it.
func (p *rendered) body(fill *strings.Replacer) template.HTML {
	var b strings.Builder
	for i, part := range p.parts {
		if i%2 == 1 && fill != nil {
			part = fill.Replace(part)
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// nameFile replaces a link to a file, which the server does not show, by its text and the name of the file.
func (d *parsed) nameFile(link *ast.Link, file string) {
	parent := link.Parent()
	name := ast.NewString([]byte("<code>" + file + "</code>"))
	label := d.words(link)
	if label != file && label != path.Base(file) {
		name.Value = slices.Concat([]byte(" ("), name.Value, []byte(")"))
		for n := link.FirstChild(); n != nil; n = link.FirstChild() {
			parent.InsertBefore(parent, link, n)
		}
	}
	name.SetCode(true) // written as it is
	parent.ReplaceChild(parent, link, name)
}

// anchors are the anchors of a page's headings, which are those of a code host. It implements parser.IDs.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(util.TrimRightSpace(heading))) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	unique := b.String()
	for i := 1; a[unique]; i++ {
		unique = b.String() + "-" + strconv.Itoa(i)
	}
	a[unique] = true
	return []byte(unique)
}

// Put implements parser.IDs.
func (a anchors) Put(id []byte) { a[string(id)] = true }
