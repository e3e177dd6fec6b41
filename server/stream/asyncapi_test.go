package stream

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/web"
)

// The AsyncAPI document has every operation, every member of a request, every channel and a
// snapshot and an update of each, and nothing that the hub does not have.
func TestDescriptionHasEveryRequestAndChannel(t *testing.T) {
	raw, err := web.AsyncAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Channels map[string]struct {
			Messages map[string]any
		}
		Operations map[string]any
		Components struct {
			Messages map[string]struct {
				Payload struct {
					Properties map[string]struct{ Const any }
				}
			}
			Schemas map[string]struct{ Enum []any }
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	same := func(what string, have, want []string) {
		t.Helper()
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("%s: the document has\n%v, the hub\n%v", what, have, want)
		}
	}
	texts := func(schema string) (list []string) {
		for _, v := range doc.Components.Schemas[schema].Enum {
			list = append(list, v.(string))
		}
		return list
	}
	var ops, described, members []string
	for _, o := range operations {
		ops = append(ops, o.op)
		if doc.Operations[o.op] == nil {
			t.Errorf("no operation %s", o.op)
		}
	}
	for name, m := range doc.Components.Messages {
		if op, ok := m.Payload.Properties["op"]; ok {
			described = append(described, name)
			members = slices.AppendSeq(members, maps.Keys(m.Payload.Properties))
			if op.Const != name {
				t.Errorf("the op of %s is %v", name, op.Const)
			}
		}
	}
	same("operations", described, ops)
	slices.Sort(members)
	var taken []string
	for _, f := range requestForm.Members() {
		taken = append(taken, f.Name)
	}
	same("members of requests", slices.Compact(members), taken)
	var channels, candles, streams, wanted []string
	for ch := chTicker; ch <= chBalances; ch++ {
		base, _, _ := strings.Cut(streamKey{channel: ch}.name(), ".")
		wanted = append(wanted, base+"Snapshot", base+"Update")
		if ch != chCandles {
			channels = append(channels, base)
		}
	}
	for _, i := range marketdata.IntervalNames() {
		candles = append(candles, "candles."+i)
	}
	for name := range doc.Components.Messages {
		if strings.HasSuffix(name, "Snapshot") || strings.HasSuffix(name, "Update") {
			streams = append(streams, name)
		}
	}
	same("channels", texts("ChannelName"), append(channels, candles...))
	same("channels of candles", texts("CandleChannel"), candles)
	same("messages of channels", streams, wanted)
	same("messages of the channel /ws", slices.Collect(maps.Keys(doc.Channels["ws"].Messages)),
		slices.Collect(maps.Keys(doc.Components.Messages)))
}
