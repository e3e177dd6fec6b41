package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tickhive/tickhive/server/web"
)

// Streams checks messages of /ws against the AsyncAPI document.
type Streams struct {
	schemas  map[string]*jsonschema.Schema // of the payload, by name of the message
	Examples map[string][]byte             // a payload of each message
	Seen     map[string]bool               // messages that Check has had
}

// LoadStreams loads the AsyncAPI document.
func LoadStreams() (*Streams, error) {
	raw, err := web.AsyncAPI()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	c.AssertFormat()
	const at = "asyncapi.json"
	if err := c.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	var names struct {
		Components struct {
			Messages map[string]struct {
				Examples []struct{ Payload json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	s := &Streams{map[string]*jsonschema.Schema{}, map[string][]byte{}, map[string]bool{}}
	for name, m := range names.Components.Messages {
		if s.schemas[name], err = c.Compile(at + "#/components/messages/" + name + "/payload"); err != nil {
			return nil, fmt.Errorf("servertest: %w", err)
		}
		for _, e := range m.Examples {
			s.Examples[name] = e.Payload
		}
	}
	return s, nil
}

// Check checks one message of either side.
func (s *Streams) Check(raw []byte) error {
	var head struct{ Op, Type, Channel string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("servertest: %w", err)
	}
	name := head.Op + head.Type
	if base, _, _ := strings.Cut(head.Channel, "."); head.Type == "snapshot" || head.Type == "update" {
		name = base + strings.ToUpper(head.Type[:1]) + head.Type[1:]
	}
	schema := s.schemas[name]
	if schema == nil {
		return fmt.Errorf("the AsyncAPI document has no message %q", name)
	}
	s.Seen[name] = true
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
