package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The route table gives the skeletons: paths, parameters, bodies, statuses.
//
//go:generate ./bundle.sh
//go:generate go test -pgo=off -run "TestSkeletons|TestBundles" -update

// Files holds the embedded assets.
//
//go:embed openapi swagger app
var Files embed.FS

// Part names one part of the OpenAPI documents: openapi/skeleton/NAME.json, which the route table
// generates, and openapi/NAME.json, which adds the prose, the examples and the answers. The AsyncAPI
// document of /ws is openapi/streams.json.
type Part string

// The parts. PartMarket has the head of the public document and must be its first part.
// PartInternal is a separate document, which borrows components of the public one.
const (
	PartMarket    Part = "market"
	PartAccounts  Part = "accounts"
	PartLaunchpad Part = "launchpad"
	PartInternal  Part = "internal"
)

// OpenAPI joins the parts into one OpenAPI 3.0 document. It fails when two
// parts define the same path or component, which is an error of the build.
func OpenAPI(parts ...Part) ([]byte, error) {
	doc, err := join(parts...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func join(parts ...Part) (object, error) {
	doc := object{}
	for _, p := range parts {
		skeleton, err := readPart("skeleton/" + string(p))
		if err != nil {
			return nil, err
		}
		prose, err := readPart(string(p))
		if err != nil {
			return nil, err
		}
		if err := describe(skeleton, prose); err != nil {
			return nil, fmt.Errorf("web: openapi part %s: %w", p, err)
		}
		for _, one := range []object{skeleton, prose} {
			if err := merge(doc, one, string(p)); err != nil {
				return nil, err
			}
		}
	}
	if slices.Contains(parts, PartInternal) {
		if err := borrow(doc); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// borrow adds the components of the public document that doc names and does not have.
func borrow(doc object) error {
	public, err := join(PartMarket, PartAccounts, PartLaunchpad)
	if err != nil {
		return err
	}
	own, theirs := child(doc, "components"), child(public, "components")
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case object:
			ref, _ := v["$ref"].(string)
			if at, ok := strings.CutPrefix(ref, "#/components/"); ok {
				kind, name, _ := strings.Cut(at, "/")
				if own[kind] == nil {
					own[kind] = object{}
				}
				if have := child(own, kind); have[name] == nil && child(theirs, kind)[name] != nil {
					have[name] = child(theirs, kind)[name]
					look(have[name])
				}
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				look(v[name])
			}
		case []any:
			for _, one := range v {
				look(one)
			}
		}
	}
	look(doc)
	return nil
}

func readPart(name string) (part map[string]any, err error) {
	raw, err := Files.ReadFile("openapi/" + name + ".json")
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber() // so that an example keeps its 65000.00
		err = d.Decode(&part)
	}
	if err != nil {
		return nil, fmt.Errorf("web: openapi part %s: %w", name, err)
	}
	return part, nil
}

// merge adds src to dst: it merges objects by member and concatenates arrays.
func merge(dst, src map[string]any, at string) error {
	for name, v := range src {
		have, exists := dst[name]
		if !exists {
			dst[name] = v
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			into, ok := have.(map[string]any)
			if !ok {
				return fmt.Errorf("web: openapi part %s: %s has two shapes", at, name)
			}
			if err := merge(into, v, at+"."+name); err != nil {
				return err
			}
		case []any:
			into, ok := have.([]any)
			if !ok {
				return fmt.Errorf("web: openapi part %s: %s has two shapes", at, name)
			}
			dst[name] = append(into, v...)
		default:
			return fmt.Errorf("web: openapi part %s: %s is defined twice", at, name)
		}
	}
	return nil
}
