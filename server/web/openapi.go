package web

import (
	"embed"
	"encoding/json"
	"fmt"
)

// Files holds the embedded assets.
//
//go:embed openapi swagger app
var Files embed.FS

// Part names one file of the OpenAPI description.
type Part string

// The parts. PartMarket has the document's head and must be the first part.
const (
	PartMarket    Part = "market"
	PartAccounts  Part = "accounts"
	PartLaunchpad Part = "launchpad"
)

// OpenAPI joins the parts into one OpenAPI 3.0 document. It fails when two
// parts define the same path or component, which is an error of the build.
func OpenAPI(parts ...Part) ([]byte, error) {
	doc := map[string]any{}
	for _, p := range parts {
		raw, err := Files.ReadFile("openapi/" + string(p) + ".json")
		if err != nil {
			return nil, fmt.Errorf("web: openapi part %s: %w", p, err)
		}
		var part map[string]any
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, fmt.Errorf("web: openapi part %s: %w", p, err)
		}
		if err := merge(doc, part, string(p)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(doc)
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
