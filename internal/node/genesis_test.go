package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/wal"
)

// A node with another cluster key says so at once, and which file is to be copied, instead of waiting for a first
// message.
func TestAStreamOfAnotherKeyIsNamedAtOnce(t *testing.T) {
	w, err := stream.Campaign(&stream.Candidate{
		Node: 1, Rules: node.Rules, Keys: testKeys(),
		Found: stream.Founding{
			History: history(), End: wal.Begins(history(), "engine"),
			Info: []byte(`{"epoch":"e"}`),
		},
		Limits: stream.Limits{InFlight: 4, Queue: 1 << 20},
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	log := jettest.NewMem().Connect()
	for p, more := w.Publish(1); more; p, more = w.Publish(1) {
		if err := log.Publish(p.Number, p.Expect, p.Data); err != nil {
			t.Fatal(err)
		}
	}
	if g, err := node.ReadGenesis(context.Background(), log, testKeys()); err != nil || g.Epoch != "e" {
		t.Fatalf("%+v, %v", g, err)
	}
	_, err = node.ReadGenesis(context.Background(), log, stream.NewKeys(append(make([]byte, 31), 1)))
	if !errors.Is(err, stream.ErrKey) || !strings.Contains(err.Error(), "cluster.key_file") {
		t.Errorf("with another key: %v", err)
	}
}
