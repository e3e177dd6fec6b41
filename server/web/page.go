package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
)

// Security headers of every file for a browser. Swagger UI requires inline styles, which the strict
// Content-Security-Policy of the market page forbids.
const (
	pageCSP    = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
	swaggerCSP = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors " +
		"'none'; base-uri 'none'"
)

var (
	hdrReferrer = []byte("Referrer-Policy")
	valReferrer = []byte("no-referrer")
)

var mediaTypes = map[string]string{
	".html":  "text/html; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".mjs":   "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".json":  "application/json; charset=utf-8",
	".woff2": "font/woff2",
}

// Page returns the resource with everything for a browser: the market page, the documentation, Swagger UI, the OpenAPI
// document of the server's routes and the AsyncAPI document of /ws.
func Page(o Options) (edge.Resource, error) {
	at, err := hashedFolders("app", "swagger")
	if err != nil {
		return nil, err
	}
	routes, err := pageRoutes(o, at)
	if err != nil {
		return nil, err
	}
	missing, err := missingPage(at)
	if err != nil {
		return nil, err
	}
	pages, err := newDocuments(o, at, missing)
	if err != nil {
		return nil, err
	}
	routes = append(routes, pages.routes()...)
	return func(s *edge.Server) []*edge.Route {
		s.ShowMissing(func(c *edge.Ctx, refusal *refuse.Refusal) *refuse.Refusal {
			at := strings.TrimRight(string(c.URI().PathOriginal()), "/")
			there := func(r *edge.Route) bool { return r.Path == at }
			if pages.pages[at] == nil && !slices.ContainsFunc(routes, there) {
				if !c.WantsPage() {
					return refusal
				}
				return missing.missing(c)
			}
			c.Response.Header.Set(fasthttp.HeaderLocation, at)
			c.SetStatusCode(fasthttp.StatusMovedPermanently)
			return nil
		})
		api := func() ([]byte, error) { return OpenAPI(s.Routes(), PublicParts...) }
		all := append(slices.Clone(routes), document("/swagger/v1/swagger.json", swaggerCSP, api),
			document(streamsPath, swaggerCSP, AsyncAPI),
			document(postmanPath, swaggerCSP, func() ([]byte, error) { return Postman(s.Routes()) }))
		for _, r := range all[len(routes):] {
			r.Public = true
		}
		slices.SortFunc(all, func(a, b *edge.Route) int { return strings.Compare(a.Path, b.Path) })
		return all
	}, nil
}

const clusterShell = "app/cluster.html"

// ClusterPage returns the resource with the page of tickhive cluster demo and the files that it names.
func ClusterPage() (edge.Resource, error) {
	at, err := hashedFolders("app")
	if err != nil {
		return nil, err
	}
	html, err := Files.ReadFile(clusterShell)
	if err != nil {
		return nil, fmt.Errorf("web: embedded file: %w", err)
	}
	page, err := newAsset(withHashes(html, at), clusterShell, pageCSP)
	if err != nil {
		return nil, err
	}
	routes := []*edge.Route{page.route("/")}
	for _, name := range []string{"app/style.css", "app/cluster.js", "app/icon.svg", "app/vendor/inter.woff2"} {
		more, err := fileRoutes(Options{}, name, at)
		if err != nil {
			return nil, err
		}
		routes = append(routes, more...)
	}
	return func(*edge.Server) []*edge.Route { return routes }, nil
}

// InternalPath is the path of the internal API's description, on the internal listener.
const InternalPath = edge.InternalPrefix + "/openapi.json"

// Internal returns the internal route of the description of the internal API. table returns the routes of the internal
// listener; it is called when the first client asks.
func Internal(table func() []*edge.Route) func() []*edge.Route {
	return func() []*edge.Route {
		r := document(InternalPath, pageCSP, func() ([]byte, error) { return OpenAPI(table(), PartInternal) })
		return edge.Tagged("System", []*edge.Route{r.Does("getDescription", "This document")})
	}
}

// document returns the route of a document, which is made when the first client asks for it: it takes longer than the
// rest of a start. It cannot be made wrong here and right elsewhere, because a test makes it from the same table.
func document(at, csp string, text func() ([]byte, error)) *edge.Route {
	made := sync.OnceValue(func() *asset {
		body, err := text()
		if err != nil {
			panic("BUG: " + err.Error())
		}
		a, err := newAsset(body, at, csp)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return a
	})
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: at, Class: edge.ClassExempt, Auth: edge.AuthNever, Early: true,
		Handle: func(c *edge.Ctx) *refuse.Refusal { return made().handle(c) },
	}
}

func pageRoutes(o Options, at map[string]string) (routes []*edge.Route, err error) {
	for folder := range at {
		err = fs.WalkDir(Files, folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || mediaTypes[path.Ext(name)] == "" {
				return err
			}
			more, err := fileRoutes(o, name, at)
			routes = append(routes, more...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return routes, nil
}

// hashedFolders returns the path of each folder in URLs. It contains a hash over the files that
// scripts and pages refer to, so that browsers may keep them without asking again.
func hashedFolders(folders ...string) (map[string]string, error) {
	at := map[string]string{}
	for _, folder := range folders {
		sum := sha256.New()
		err := fs.WalkDir(Files, folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) == ".html" {
				return err
			}
			body, err := Files.ReadFile(name)
			fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("web: embedded files: %w", err)
		}
		at[folder] = "/" + folder + "/" + hex.EncodeToString(sum.Sum(nil)[:6]) + "/"
	}
	return at, nil
}

// fileRoutes returns the routes of one embedded file. Pages are revalidated on each visit and name
// the hashed paths of the other files.
func fileRoutes(o Options, name string, at map[string]string) ([]*edge.Route, error) {
	body, err := Files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("web: embedded file: %w", err)
	}
	folder, rest, _ := strings.Cut(name, "/")
	csp := pageCSP
	if folder == "swagger" {
		csp = swaggerCSP
	}
	page := func(body []byte, paths ...string) ([]*edge.Route, error) {
		a, err := newShell(o, withHashes(body, at), name, csp)
		if err != nil {
			return nil, err
		}
		var routes []*edge.Route
		for _, p := range paths {
			routes = append(routes, fileRoute(p, a.handle))
		}
		return routes, nil
	}
	switch name {
	case "app/index.html":
		market, err := page(body, "/")
		if err != nil {
			return nil, err
		}
		others, err := page(otherShell(body), "/launchpad", "/hive", "/status", "/admin")
		return append(market, others...), err
	case "app/docs.html", clusterShell:
		return nil, nil // the shell of the pages of the folder docs, and ClusterPage's
	case "swagger/index.html":
		return page(body, "/swagger")
	}
	a, err := newAsset(body, name, csp)
	if err != nil {
		return nil, err
	}
	a.cache = valForever
	routes := []*edge.Route{a.route(at[folder] + rest)}
	if name == "app/icon.svg" {
		icon := *a
		icon.cache = valRevisit
		routes = append(routes, icon.route("/favicon.ico")) // for answers that name no icon, such as JSON
	}
	return routes, nil
}

// withHashes returns a page that names the hashed paths of the other files.
func withHashes(html []byte, at map[string]string) []byte {
	for folder, hashed := range at {
		html = bytes.ReplaceAll(html, []byte(`"/`+folder+`/`), []byte(`"`+hashed))
	}
	return html
}

// missingPage returns the page that says that there is no such page.
func missingPage(at map[string]string) (*asset, error) {
	const shell = "app/index.html"
	html, err := Files.ReadFile(shell)
	if err != nil {
		return nil, fmt.Errorf("web: embedded file: %w", err)
	}
	return newAsset(withHashes(otherShell(html), at), shell, pageCSP)
}

var ofTheMarket = regexp.MustCompile(
	`(?m)^<link rel="modulepreload".*\n| class="trading"|<div class="market".*</div>`)

// otherShell returns the shell of the other pages: it has their script, and neither the chart nor the places of the
// market's panels.
func otherShell(html []byte) []byte {
	return bytes.ReplaceAll(ofTheMarket.ReplaceAll(html, nil), []byte("/app/index.js"), []byte("/app/pages.js"))
}

// Values of Cache-Control: pages are revalidated, hashed files never change.
var (
	valRevisit = []byte("no-cache")
	valForever = []byte("public, max-age=31536000, immutable")
)

const (
	smallest    = 512 // bytes; a shorter file is not compressed
	brotliLevel = 6   // 36 ms for the chart library, 59 KB; level 11 takes 1 s for 54 KB
	gzipLevel   = 9
)

// asset is an embedded file, ready to send. The repository holds no encoded copies (0.7 MB that no review can read),
// and a start encodes none (0.4 s of CPU, also of programs that no browser visits). Owner: none; its fields do not
// change, apart from the encodings, which the first request that accepts them makes.
type asset struct {
	mediaType    string
	tag          string // without its last quote, which the suffix of an encoding precedes
	cache        []byte
	csp          []byte
	plain        []byte
	compressible bool
	gzip         func() []byte
	brotli       func() []byte
}

func newAsset(body []byte, name, csp string) (*asset, error) {
	mediaType, ok := mediaTypes[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("web: no media type for %s", name)
	}
	sum := sha256.Sum256(body)
	return &asset{
		mediaType: mediaType, tag: `"` + hex.EncodeToString(sum[:8]), cache: valRevisit, csp: []byte(csp), plain: body,
		compressible: len(body) >= smallest && path.Ext(name) != ".png" && path.Ext(name) != ".woff2",
		gzip:         sync.OnceValue(func() []byte { return fasthttp.AppendGzipBytesLevel(nil, body, gzipLevel) }),
		brotli:       sync.OnceValue(func() []byte { return fasthttp.AppendBrotliBytesLevel(nil, body, brotliLevel) }),
	}, nil
}

// handle sends the file in the smallest encoding that the client accepts.
func (a *asset) handle(c *edge.Ctx) *refuse.Refusal {
	return a.send(c, true)
}

// missing sends the file with 404 in place of one that does not exist: it has no tag to ask for again.
func (a *asset) missing(c *edge.Ctx) *refuse.Refusal {
	c.SetStatusCode(fasthttp.StatusNotFound)
	return a.send(c, false)
}

func (a *asset) send(c *edge.Ctx, tagged bool) *refuse.Refusal {
	h := &c.Response.Header
	suffix, body, coding := `"`, func() []byte { return a.plain }, ""
	if a.compressible {
		switch coding = c.Coding("br", "gzip"); coding {
		case "br":
			suffix, body = `-b"`, a.brotli
		case "gzip":
			suffix, body = `-g"`, a.gzip
		}
	}
	h.SetCanonical(edge.HdrCacheControl, a.cache)
	h.SetCanonical(hdrReferrer, valReferrer)
	h.SetCanonical(edge.HdrCSP, a.csp)
	if tagged {
		h.SetCanonical(edge.HdrETag, []byte(a.tag+suffix))
		if edge.NotModified(c.RequestCtx, a.tag+`"`) {
			c.NotModified()
			return nil
		}
	}
	h.SetContentType(a.mediaType)
	h.SetContentEncoding(coding)
	c.Response.SetBodyRaw(body())
	return nil
}

// route returns the route of the file.
func (a *asset) route(at string) *edge.Route { return fileRoute(at, a.handle) }

// fileRoute returns the route of a file. It is there during recovery too, so that a browser can show the progress.
func fileRoute(at string, handle edge.Handler) *edge.Route {
	return &edge.Route{
		Method: fasthttp.MethodGet, Path: at, Handle: handle,
		Class: edge.ClassExempt, Auth: edge.AuthNever, Early: true,
	}
}

// shell is a page of scripts. Its attribute data-console says which console the reader may use, and data-replay that
// the exchange replays a recording, so that the scripts need not ask. Owner: none; its fields do not change.
type shell struct {
	kind func(ctx *fasthttp.RequestCtx) string
	by   map[string]*asset // by the kind of console; under the empty one the page without a console
}

func newShell(o Options, html []byte, name, csp string) (*shell, error) {
	s := &shell{kind: o.Console, by: map[string]*asset{}}
	if s.kind == nil {
		s.kind = func(*fasthttp.RequestCtx) string { return "" }
	}
	const root = `<html lang="en"`
	replay := ""
	if o.Replay {
		replay = " data-replay"
	}
	for kind, attribute := range map[string]string{
		"": "", "loopback": ` data-console="loopback"`, "token": ` data-console="token"`,
	} {
		a, err := newAsset(bytes.Replace(html, []byte(root), []byte(root+replay+attribute), 1), name, csp)
		if err != nil {
			return nil, err
		}
		s.by[kind] = a
	}
	return s, nil
}

// handle sends the page for the console of the request.
func (s *shell) handle(c *edge.Ctx) *refuse.Refusal {
	return s.by[s.kind(c.RequestCtx)].handle(c)
}
