package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/docs"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
)

// Options says what the pages show of the server.
type Options struct {
	// Binance returns the addresses of the Binance-compatible listener, none if there is no listener. Handlers call it.
	Binance func() []string
	Secure  bool // clients come by TLS
	Replay  bool // the exchange replays a recording
	// Console returns the kind of console (docs/contract/internal.md#console) that a page may use which a request asks
	// for, empty for none.
	Console func(ctx *fasthttp.RequestCtx) string
}

const (
	docsPath = "/docs"
	// programsAddress is the address of the Binance-compatible listener in the programs of the pages.
	programsAddress = "127.0.0.1:8090"
)

// documents are the pages of the folder docs. Owner: none; its fields do not change.
type documents struct {
	Options
	shell   *template.Template
	missing *asset
	pages   map[string]func() *shown // by path; the first client renders a page
	menu    func() []entry
}

// shown is a rendered page of documents. Owner: none; its fields do not change.
type shown struct {
	*rendered
	// plain is the whole page, nil if its programs name the Binance-compatible listener. No such page is kept, because
	// a client chooses the host in it.
	plain *asset
}

// entry is a line of the menu of all pages.
type entry struct {
	Title, Path string
	Below       []entry
	name        string // of the file in the folder docs, empty for another page
}

// newDocuments returns the pages of the folder docs. missing is the page in place of one that does not exist.
func newDocuments(o Options, at map[string]string, missing *asset) (*documents, error) {
	text, err := Files.ReadFile("app/docs.html")
	if err != nil {
		return nil, fmt.Errorf("web: embedded file: %w", err)
	}
	shell, err := template.New("docs").Parse(string(withHashes(text, at)))
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	d := &documents{Options: o, shell: shell, missing: missing, pages: map[string]func() *shown{}}
	d.menu = sync.OnceValue(menu)
	err = fs.WalkDir(docs.Files, ".", func(name string, file fs.DirEntry, err error) error {
		if err == nil && !file.IsDir() {
			d.add(pagePath(name), func() *rendered { return readPage(name).render() })
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("web: embedded files: %w", err)
	}
	d.add(streamsPage, renderStreams)
	return d, nil
}

func (d *documents) routes() (routes []*edge.Route) {
	for _, at := range []string{docsPath, docsPath + "/{page:*}"} {
		routes = append(routes, &edge.Route{
			Method: fasthttp.MethodGet, Path: at, Handle: d.handle, Class: edge.ClassExempt, Auth: edge.AuthNever,
			Early: true,
		})
	}
	return routes
}

// add adds a page.
func (d *documents) add(at string, render func() *rendered) {
	d.pages[at] = sync.OnceValue(func() *shown {
		p := &shown{rendered: render()}
		if !p.namesListener() {
			p.plain = d.compose(p, at, "", p.body(nil))
		}
		return p
	})
}

// pagePath returns the path of a file of the folder docs.
func pagePath(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".md"), "README")
	return strings.TrimSuffix(docsPath+"/"+name, "/")
}

// handle sends a page.
func (d *documents) handle(c *edge.Ctx) *refuse.Refusal {
	at := string(c.URI().PathOriginal())
	page := d.pages[at]
	if page == nil {
		if c.WantsPage() {
			return d.missing.missing(c)
		}
		return refuse.New(refuse.NotFound, "", "There is no such page; %s lists the pages.", docsPath)
	}
	p := page()
	if p.plain != nil {
		return p.plain.handle(c)
	}
	notice, fill := d.listener(string(c.Host()))
	return d.compose(p, at, notice, p.body(fill)).handle(c)
}

// compose puts a page into the shell.
func (d *documents) compose(p *shown, at string, notice, body template.HTML) *asset {
	var b bytes.Buffer
	err := d.shell.Execute(&b, struct {
		*shown
		Path, Folder string
		Notice, Body template.HTML
		Menu         []entry
	}{p, at, path.Dir(at), notice, body, d.menu()})
	if err != nil {
		panic("BUG: " + err.Error()) // a constant of the build
	}
	a, err := newAsset(b.Bytes(), "docs.html", pageCSP)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return a
}

// listener returns what a page says of the Binance-compatible listener to a reader who asked this host, and what
// replaces its address in the programs.
func (d *documents) listener(host string) (notice template.HTML, fill *strings.Replacer) {
	schemes, at := [2]string{"http://", "ws://"}, d.address(host)
	if d.Secure {
		schemes = [2]string{"https://", "wss://"}
	}
	text := "This exchange has no listener for programs for Binance. <code>tickhive serve --binance-listen " +
		programsAddress + "</code> or <code>listen</code> in the section <code>binance</code> of its configuration " +
		"starts one, which the programs below name."
	if at != "" {
		at = html.EscapeString(at)
		text = "This exchange listens for programs for Binance at <code>" + schemes[0] + at +
			"</code>, which the programs below name."
	}
	at = cmp.Or(at, programsAddress)
	return template.HTML(`<p class="notice">` + text + "</p>\n"),
		strings.NewReplacer("http://"+programsAddress, schemes[0]+at, "ws://"+programsAddress, schemes[1]+at,
			programsAddress, at)
}

// address returns the address of the Binance-compatible listener as the reader reaches it, empty without a listener.
// A listener on every address of its machine is at the host that the reader asked.
func (d *documents) address(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, text := range d.Binance() {
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

// menu returns the entries of all pages: the sections of docs/README.md with the pages that it links to. Below the map
// of a folder are the pages of the folder, and only there.
func menu() (sections []entry) {
	for _, section := range readPage(index).links() {
		for i, e := range section.Below {
			name, found := strings.CutSuffix(e.name, "/"+index)
			if !found {
				continue
			}
			for _, in := range readPage(e.name).links() {
				in.Below = slices.DeleteFunc(in.Below, func(e entry) bool { return path.Dir(e.name) != name })
				section.Below[i].Below = append(section.Below[i].Below, in.Below...)
			}
			below := section.Below[i].Below
			section.Below = slices.DeleteFunc(section.Below, func(e entry) bool {
				return slices.ContainsFunc(below, func(b entry) bool { return b.Path == e.Path })
			})
		}
		if len(section.Below) > 0 {
			sections = append(sections, section)
		}
	}
	return sections
}
