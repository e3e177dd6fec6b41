package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"tickhive/internal/stream/jet"
)

// Bounds of the search for nodes that give a snapshot.
const (
	findWithin = 500 * time.Millisecond // for the answers
	maxOffers  = 64                     // answers
	maxTried   = 3                      // nodes
	maxAddress = 300                    // bytes
)

// The roles of an Offer.
const (
	RoleReplica = "replica"
	RoleStandby = "standby"
	RoleWriter  = "writer"
)

// Offer describes a node that gives a snapshot.
type Offer struct {
	Address string `json:"address"` // HOST:PORT of its internal listener
	Role    string `json:"role"`
	Seq     uint64 `json:"seq"`            // number of the last message that it has
	Bare    bool   `json:"bare,omitempty"` // its snapshots lack the simulated market
}

// Key proves that a message comes from a node of the cluster.
type Key interface {
	Prove(parts ...string) (proof string)
	Proves(proof string, parts ...string) bool
}

// question asks all nodes of a stream for offers. The nonce makes each answer one to this question.
type question struct {
	Nonce string `json:"nonce"`
	Proof string `json:"proof"`
}

type reply struct {
	Offer json.RawMessage `json:"offer"`
	Proof string          `json:"proof"`
}

// The parts of a proof that tell its purpose.
const (
	proveQuestion = "who gives a snapshot"
	proveReply    = "a snapshot is given"
)

// Announce answers the nodes that look for a snapshot, until stop is called. offer returns what this node gives now.
// The other nodes believe an answer only with the same key.
func Announce(log jet.Log, epoch string, key Key, offer func() Offer) (stop func(), err error) {
	return log.Respond(func(text []byte) []byte {
		var q question
		if json.Unmarshal(text, &q) != nil || !key.Proves(q.Proof, proveQuestion, epoch, q.Nonce) {
			return nil
		}
		of, err := json.Marshal(offer())
		if err != nil {
			return nil
		}
		answer, err := json.Marshal(reply{of, key.Prove(proveReply, epoch, q.Nonce, string(of))})
		if err != nil {
			return nil
		}
		return answer
	})
}

// Find asks the nodes of a stream which of them give a snapshot. The best ones come first: replicas and standbys, so
// that the writer has no work with it, and of those the ones with the latest message. Answers without a proof are
// passed over.
func Find(ctx context.Context, log jet.Log, epoch string, key Key) (found []Offer, err error) {
	nonce := rand.Text()
	text, err := json.Marshal(question{nonce, key.Prove(proveQuestion, epoch, nonce)})
	if err != nil {
		return nil, err
	}
	answers, err := log.Ask(ctx, text, findWithin, maxOffers)
	if err != nil {
		return nil, err
	}
	for _, text := range answers {
		var r reply
		var o Offer
		if json.Unmarshal(text, &r) == nil && key.Proves(r.Proof, proveReply, epoch, nonce, string(r.Offer)) &&
			json.Unmarshal(r.Offer, &o) == nil && o.check() == nil {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Address, b.Address))
	})
	return slices.Compact(found), nil
}

// rank puts the writer behind the other nodes.
func (o *Offer) rank() int {
	if o.Role == RoleWriter {
		return 1
	}
	return 0
}

// check returns an error for an offer with which a node could not begin.
func (o *Offer) check() error {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0 || host == "" || len(o.Address) > maxAddress:
		return fmt.Errorf("address %.300q", o.Address)
	case o.Role != RoleReplica && o.Role != RoleStandby && o.Role != RoleWriter:
		return errors.New("another role")
	}
	return nil
}
