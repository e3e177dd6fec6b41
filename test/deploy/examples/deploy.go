package examples

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"

	"github.com/tickhive/tickhive/test/harness"
)

// ReadYAML decodes a YAML document. A member that v does not have is an error.
func ReadYAML(t *testing.T, text string, v any) {
	t.Helper()
	strict := func(d *json.Decoder) *json.Decoder {
		d.DisallowUnknownFields()
		return d
	}
	if _, err := yaml.Unmarshal([]byte(text), v, yaml.DecodeOpts{}, strict); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
}

// RecipeStep is an instruction of a Dockerfile: RUN, the text behind it, and the words of its JSON form.
type RecipeStep struct {
	Name, Text string
	Words      []string
}

// Dockerfile returns the instructions of each stage of a Dockerfile of the source tree.
func Dockerfile(t *testing.T, name string) (stages [][]RecipeStep) {
	t.Helper()
	text := strings.ReplaceAll(harness.ReadTree(t, name), "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s := RecipeStep{}
		s.Name, s.Text, _ = strings.Cut(line, " ")
		if i := strings.Index(s.Text, "["); i >= 0 {
			if err := json.Unmarshal([]byte(s.Text[i:]), &s.Words); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if s.Name == "FROM" {
			stages = append(stages, nil)
		}
		stages[len(stages)-1] = append(stages[len(stages)-1], s)
	}
	return stages
}

// Instruction returns the only instruction of this name in a stage.
func Instruction(t *testing.T, stage []RecipeStep, name string) RecipeStep {
	t.Helper()
	i := slices.IndexFunc(stage, func(s RecipeStep) bool { return s.Name == name })
	if i < 0 || slices.ContainsFunc(stage[i+1:], func(s RecipeStep) bool { return s.Name == name }) {
		t.Fatalf("not one %s", name)
	}
	return stage[i]
}
