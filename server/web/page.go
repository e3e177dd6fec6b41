package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
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
	valRevisit  = []byte("no-cache")
)

var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".json": "application/json; charset=utf-8",
}

// pagePaths lists the paths of the market page: one document that selects its view by the path.
var pagePaths = []string{"/", "/launchpad", "/hive", "/status"}

// asset is an embedded file, ready to send. Immutable.
type asset struct {
	body      []byte
	mediaType string
	tag       string
	csp       []byte
}

func newAsset(body []byte, name, csp string) (*asset, error) {
	mediaType, ok := mediaTypes[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("server: no media type for %s", name)
	}
	sum := sha256.Sum256(body)
	return &asset{body, mediaType, `"` + hex.EncodeToString(sum[:8]) + `"`, []byte(csp)}, nil
}

// handle sends the file; browsers cache it and revalidate it.
func (a *asset) handle(c *edge.Ctx) *refuse.Refusal {
	h := &c.Response.Header
	h.SetCanonical(edge.HdrETag, []byte(a.tag))
	h.SetCanonical(edge.HdrCacheControl, valRevisit)
	h.SetCanonical(hdrReferrer, valReferrer)
	h.SetCanonical(edge.HdrCSP, a.csp)
	if edge.NotModified(c.RequestCtx, a.tag) {
		c.NotModified()
		return nil
	}
	h.SetContentType(a.mediaType)
	c.Response.SetBodyRaw(a.body)
	return nil
}

func (a *asset) route(at string) *edge.Route {
	return &edge.Route{Method: fasthttp.MethodGet, Path: at, Handle: a.handle, Auth: edge.AuthNever}
}

// Page returns the resource with everything for a browser: the market page, the documentation,
// Swagger UI and the OpenAPI description of the parts that this server serves.
func Page(parts ...Part) (edge.Resource, error) {
	routes, err := pageRoutes(parts)
	if err != nil {
		return nil, err
	}
	return func(*edge.Server) []*edge.Route { return routes }, nil
}

// InternalPath is the path of the internal API's description, on the internal listener.
const InternalPath = edge.InternalPrefix + "/openapi.json"

// Internal returns the internal route of the description of the internal API.
func Internal() (func() []*edge.Route, error) {
	doc, err := OpenAPI(PartInternal)
	if err != nil {
		return nil, err
	}
	description, err := newAsset(doc, "openapi.json", pageCSP)
	if err != nil {
		return nil, err
	}
	return func() []*edge.Route { return []*edge.Route{description.route(InternalPath)} }, nil
}

func pageRoutes(parts []Part) ([]*edge.Route, error) {
	doc, err := OpenAPI(parts...)
	if err != nil {
		return nil, err
	}
	description, err := newAsset(doc, "swagger.json", swaggerCSP)
	if err != nil {
		return nil, err
	}
	routes := []*edge.Route{description.route("/swagger/v1/swagger.json")}
	routes[0].Public = true
	err = fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || mediaTypes[path.Ext(name)] == "" || strings.HasPrefix(name, "openapi/") {
			return err
		}
		more, err := fileRoutes(name)
		routes = append(routes, more...)
		return err
	})
	return routes, err
}

// fileRoutes returns the routes of one embedded file.
func fileRoutes(name string) ([]*edge.Route, error) {
	body, err := Files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("server: embedded file: %w", err)
	}
	csp := pageCSP
	if path.Dir(name) == "swagger" {
		csp = swaggerCSP
	}
	a, err := newAsset(body, name, csp)
	if err != nil {
		return nil, err
	}
	switch name {
	case "app/index.html":
		var routes []*edge.Route
		for _, at := range pagePaths {
			routes = append(routes, a.route(at))
		}
		return routes, nil
	case "app/docs.html":
		return []*edge.Route{a.route("/docs")}, nil
	case "swagger/index.html":
		return []*edge.Route{a.route("/swagger")}, nil
	}
	return []*edge.Route{a.route("/" + name)}, nil
}
