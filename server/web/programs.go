package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/tickhive/tickhive/docs"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
)

// Options says what the pages show of the server.
type Options struct {
	// Binance returns the addresses of the Binance-compatible listener, none if there is no listener. Handlers call it.
	Binance func() []string
	Secure  bool // clients come by TLS
}

const (
	programsPath = "/docs/programs"
	// programsAddress is the address in the programs of docs/programs.md.
	programsAddress = "127.0.0.1:8090"
)

// programsPage is docs/programs.md as a page. Owner: none; its fields do not change. It keeps no page of an address,
// because a client chooses the host in it.
type programsPage struct {
	Options
	shell [2][]byte // what precedes and follows the content
	// content returns the parts of the rendered document: those with an odd index are programs, whose address is that
	// of the reader's exchange.
	content func() []string
}

// programsRoute returns the route of the page, in the shell of the tour.
func programsRoute(o Options, at map[string]string) (*edge.Route, error) {
	const tour = "app/docs.html"
	shell, err := Files.ReadFile(tour)
	if err != nil {
		return nil, fmt.Errorf("web: embedded file: %w", err)
	}
	head, rest, _ := bytes.Cut(withHashes(shell, at), []byte("<h1>"))
	_, foot, found := bytes.Cut(rest, []byte("</main>"))
	if !found {
		return nil, fmt.Errorf("web: %s has no heading before the end of <main>", tour)
	}
	head = bytes.Replace(head, []byte("<title>Documentation"), []byte("<title>Your program, unchanged"), 1)
	head = bytes.Replace(head, []byte(`aria-current="page"`), []byte(`aria-current="true"`), 1)
	p := &programsPage{o, [2][]byte{head, append([]byte("</main>"), foot...)}, sync.OnceValue(renderPrograms)}
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: programsPath, Handle: p.handle, Auth: edge.AuthNever, Early: true,
	}, nil
}

// handle sends the page with the address of the exchange in its programs.
func (p *programsPage) handle(c *edge.Ctx) *refuse.Refusal {
	schemes, at := [2]string{"http://", "ws://"}, p.address(string(c.Host()))
	if p.Secure {
		schemes = [2]string{"https://", "wss://"}
	}
	notice := "This exchange has no listener for programs for Binance. <code>tickhive serve --binance-listen " +
		programsAddress + "</code> or <code>listen</code> in the section <code>binance</code> of its configuration " +
		"starts one, which the programs below name."
	if at != "" {
		at = html.EscapeString(at)
		notice = "This exchange listens for programs for Binance at <code>" + schemes[0] + at +
			"</code>, which the programs below name."
	}
	at = cmp.Or(at, programsAddress)
	fill := strings.NewReplacer("http://"+programsAddress, schemes[0]+at, "ws://"+programsAddress, schemes[1]+at,
		programsAddress, at)
	var b bytes.Buffer
	b.Write(p.shell[0])
	for i, part := range p.content() {
		if i%2 == 1 {
			part = fill.Replace(part)
		}
		b.WriteString(part)
		if i == 0 {
			b.WriteString(`<p class="notice">` + notice + "</p>\n")
		}
	}
	b.Write(p.shell[1])
	a, err := newAsset(b.Bytes(), "programs.html", pageCSP)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return a.handle(c)
}

// address returns the address of the Binance-compatible listener as the reader reaches it, empty without a listener.
// A listener on every address of its machine is at the host that the reader asked.
func (p *programsPage) address(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, text := range p.Binance() {
		at, err := netip.ParseAddrPort(text)
		switch {
		case err != nil: // a unix socket
		case at.Addr().IsUnspecified():
			return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(at.Port())))
		default:
			return text
		}
	}
	return ""
}

// renderPrograms renders docs/programs.md and splits it: the heading, and then by turns a program and what is between
// two programs.
func renderPrograms() (parts []string) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := markdown.Parser().Parse(text.NewReader(docs.Programs))
	var links []*ast.Link
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			links = append(links, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		nameFile(link)
	}
	var b bytes.Buffer
	if err == nil {
		err = markdown.Renderer().Render(&b, docs.Programs, doc)
	}
	if err != nil {
		panic("BUG: " + err.Error()) // a constant of the build
	}
	dressed := strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<th>", `<th scope="col">`,
		"<table>", `<div class="wide"><table>`, "</table>", "</table></div>").Replace(b.String())
	heading, rest, _ := strings.Cut(dressed, "</h1>\n")
	parts = []string{heading + "</h1>\n", ""}
	for rest != "" {
		before, after, found := strings.Cut(rest, "<pre")
		parts = append(parts, before)
		if !found {
			break
		}
		program, after, _ := strings.Cut(after, "</pre>")
		parts, rest = append(parts, "<pre"+program+"</pre>"), after
	}
	return parts
}

// nameFile replaces a link to another document, which the server does not show, by its text and the name of the file.
func nameFile(link *ast.Link) {
	to := string(link.Destination)
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") {
		return
	}
	file, _, _ := strings.Cut(to, "#")
	parent := link.Parent()
	name := path.Join("docs", file)
	if label, ok := link.FirstChild().(*ast.Text); !ok || string(label.Value(docs.Programs)) != file {
		name = " (" + name + ")"
		for n := link.FirstChild(); n != nil; n = link.FirstChild() {
			parent.InsertBefore(parent, link, n)
		}
	}
	parent.ReplaceChild(parent, link, ast.NewString([]byte(name)))
}
