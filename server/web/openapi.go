package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/server/edge"
)

//go:generate ./bundle.sh
//go:generate go test -pgo=off -run TestBundles -update

// Files holds the embedded assets.
//
//go:embed openapi swagger app
var Files embed.FS

// Part names a file of components, openapi/NAME.json: schemas, headers, and the answers and examples of routes by their
// names. The AsyncAPI document of /ws is openapi/streams.json.
type Part string

// The parts. PartMarket has the head of the public document, PartInternal that of the internal one, which borrows
// components of the public one.
const (
	PartMarket    Part = "market"
	PartAccounts  Part = "accounts"
	PartLaunchpad Part = "launchpad"
	PartInternal  Part = "internal"
)

// PublicParts are the parts of the public document.
var PublicParts = []Part{PartMarket, PartAccounts, PartLaunchpad}

// OpenAPI returns the OpenAPI 3.0 document of a route table, with the components of parts, the one with the head first.
// The table gives paths, parameters, bodies and statuses, the components give answers and examples.
func OpenAPI(table []*edge.Route, parts ...Part) ([]byte, error) {
	doc, err := join(parts...)
	if err != nil {
		return nil, err
	}
	inner := slices.Contains(parts, PartInternal)
	if err := describe(doc, table, inner); err != nil {
		return nil, err
	}
	if inner {
		if err := borrow(doc); err != nil {
			return nil, err
		}
	}
	return json.Marshal(doc)
}

// join joins parts. It fails when two of them define the same component, which is an error of the build.
func join(parts ...Part) (object, error) {
	doc := object{}
	for _, p := range parts {
		part, err := readPart(string(p))
		if err != nil {
			return nil, err
		}
		if err := merge(doc, part, string(p)); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// borrow adds the components of the public document that doc names and does not have.
func borrow(doc object) error {
	public, err := join(PublicParts...)
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
		part, err = decode(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("web: openapi part %s: %w", name, err)
	}
	return part, nil
}

// decode decodes a JSON object. Its numbers keep their text, so that an example keeps its 65000.00.
func decode(raw []byte) (o object, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&o)
	return o, err
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

// object is a JSON object.
type object = map[string]any

// child returns a member that is an object, nil otherwise.
func child(o object, name string) object {
	v, _ := o[name].(object)
	return v
}

// streamsPath is the path of the AsyncAPI document.
const streamsPath = "/swagger/v1/asyncapi.json"

// AsyncAPI returns the AsyncAPI 3 document of /ws. It takes its objects from the public OpenAPI document, so that no
// object is described twice.
func AsyncAPI() ([]byte, error) {
	doc, err := readPart("streams")
	if err != nil {
		return nil, err
	}
	if err := borrow(doc); err != nil {
		return nil, err
	}
	jsonSchema(doc["components"])
	return json.Marshal(doc)
}

// jsonSchema turns what OpenAPI 3.0 writes its own way into JSON Schema, which AsyncAPI has:
// nullable becomes a type or a value of an enum, example becomes examples.
func jsonSchema(v any) {
	switch v := v.(type) {
	case object:
		if v["nullable"] == true {
			delete(v, "nullable")
			if kind, ok := v["type"].(string); ok {
				v["type"] = []any{kind, "null"}
			}
			if words, ok := v["enum"].([]any); ok {
				v["enum"] = append(words, nil)
			}
		}
		if one, ok := v["example"]; ok {
			delete(v, "example")
			v["examples"] = []any{one}
		}
		for _, member := range v {
			jsonSchema(member)
		}
	case []any:
		for _, one := range v {
			jsonSchema(one)
		}
	}
}
