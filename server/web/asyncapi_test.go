package web_test

import (
	"bytes"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// Each message of the AsyncAPI document has an example that its schema accepts and, with one more member,
// refuses.
func TestExamplesOfTheStreamsAreValid(t *testing.T) {
	s, err := servertest.LoadStreams()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Examples) < 30 {
		t.Fatalf("only %d messages have an example", len(s.Examples))
	}
	for name, example := range s.Examples {
		if err := s.Check(example); err != nil || !s.Seen[name] {
			t.Errorf("%s: %v", name, err)
		}
		wrong := append(bytes.TrimSuffix(bytes.Clone(example), []byte("}")), `,"more":1}`...)
		if s.Check(wrong) == nil {
			t.Errorf("%s takes an unknown member", name)
		}
	}
}
