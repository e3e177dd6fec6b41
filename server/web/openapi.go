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

// object is a JSON object.
type object = map[string]any

// describe moves into skeleton what prose says in a short form:
//
//   - x-parameters describes parameters by name; the document's apply to every operation that
//     has none,
//   - x-example is the example of a body in each of its media types,
//   - x-same-as names the path whose operation has the members that this one lacks,
//   - x-answer holds description, schema and example of the JSON answer with status 200,
//   - x-errors holds code and description of each error answer, and what differs in its example,
//   - x-refs describes a member whose schema is a reference.
func describe(skeleton, prose object) error {
	shared := take(prose, "x-parameters")
	if err := copySame(child(prose, "paths")); err != nil {
		return err
	}
	for path, item := range child(skeleton, "paths") {
		for method, v := range item.(object) {
			op, words := v.(object), child(child(child(prose, "paths"), path), method)
			if words == nil {
				return fmt.Errorf("%s %s is not described", method, path)
			}
			if err := describeParameters(op, take(words, "x-parameters"), shared); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			if example, ok := words["x-example"]; ok {
				delete(words, "x-example")
				for _, media := range child(child(op, "requestBody"), "content") {
					media.(object)["example"] = example
				}
			}
			answer(op, words)
		}
	}
	if errors := take(prose, "x-errors"); errors != nil {
		components, _ := prose["components"].(object)
		components["responses"] = errorAnswers(errors)
	}
	for schema, v := range take(prose, "x-refs") {
		for member, text := range v.(object) {
			properties := child(child(child(child(skeleton, "components"), "schemas"), schema), "properties")
			properties[member] = object{"allOf": []any{properties[member]}, "description": text}
		}
	}
	return nil
}

// copySame copies into operations with x-same-as the members that they lack.
func copySame(paths object) error {
	for path, item := range paths {
		for method, v := range item.(object) {
			op := v.(object)
			other, given := op["x-same-as"].(string)
			if !given {
				continue
			}
			source := child(child(paths, other), method)
			if source == nil {
				return fmt.Errorf("%s %s is the same as %s, which is not described", method, path, other)
			}
			raw, err := json.Marshal(source)
			if err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			var same object // a copy, because answer changes it
			if err := json.Unmarshal(raw, &same); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			delete(op, "x-same-as")
			maps.Copy(same, op)
			maps.Copy(op, same)
		}
	}
	return nil
}

func describeParameters(op, own, shared object) error {
	for _, v := range op["parameters"].([]any) {
		p := v.(object)
		name, _ := p["name"].(string)
		words, ok := own[name].(object)
		if delete(own, name); !ok {
			words, _ = shared[name].(object)
		}
		if err := merge(p, words, name); err != nil {
			return err
		}
	}
	for name := range own {
		return fmt.Errorf("there is no parameter %s", name)
	}
	return nil
}

// answer makes the answer with status 200 from x-answer.
func answer(op, words object) {
	media := take(words, "x-answer")
	if media == nil {
		return
	}
	ok := child(child(op, "responses"), "200")
	ok["description"] = "The answer."
	if text, given := media["description"]; given {
		ok["description"] = text
		delete(media, "description")
	}
	ok["content"] = object{"application/json": media}
}

// errorAnswers makes the answers of errors from x-errors: the error object with an example.
func errorAnswers(errors object) object {
	out := object{}
	for name, v := range errors {
		e := v.(object)
		example := object{
			"code": e["code"], "message": e["description"], "field": e["field"], "requestId": "6f1c2b7a90d34e58",
		}
		if text, given := e["message"]; given {
			example["message"] = text
		}
		headers := object{"X-Request-Id": object{"$ref": "#/components/headers/RequestId"}}
		maps.Copy(headers, child(e, "headers"))
		out[name] = object{
			"description": e["description"], "headers": headers,
			"content": object{"application/json": object{
				"schema": object{"$ref": "#/components/schemas/Error"}, "example": example,
			}},
		}
	}
	return out
}

// child returns a member that is an object, nil otherwise.
func child(o object, name string) object {
	v, _ := o[name].(object)
	return v
}

// take removes and returns a member that is an object, nil otherwise.
func take(o object, name string) object {
	v := child(o, name)
	delete(o, name)
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
