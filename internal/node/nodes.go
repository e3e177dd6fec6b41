package node

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/clusterkey"
)

// The roles of a node.
const (
	RoleWriter  = "writer"
	RoleStandby = "standby"
	RoleReplica = "replica"
)

// Bounds of what the nodes of a cluster tell each other.
const (
	// AnnounceEvery is the time between two announcements of a node.
	AnnounceEvery = time.Second
	// heardFor is the time after which a silent node is in no list: ten announcements are lost, or it has ended.
	heardFor = 10 * time.Second
	// maxApart is the largest difference between the clocks of two nodes, with the time on the way. An announcement
	// that somebody repeats later does not count.
	maxApart = 30 * time.Second

	maxNodes        = 64      // that are remembered: more than any cluster has
	maxAnnouncement = 1 << 10 // bytes: an address is a name of at most 253 characters and a port
)

// Announcement is what a node tells the other nodes of its stream about itself. It is no message of the stream: nothing
// stores it, nothing is decided by it, and it may be lost.
type Announcement struct {
	ID       uint64 `json:"id"`     // of the node since it has its role: a random number
	SentMs   int64  `json:"sentMs"` // by its machine's clock; each announcement of an ID has a later one
	Address  string `json:"address"`
	Role     string `json:"role"`
	Version  string `json:"version"`
	Term     uint64 `json:"term"`
	Position uint64 `json:"position"`
	LagMs    int64  `json:"lagMs"`
	Stale    bool   `json:"stale"`  // it refuses reads
	Failed   bool   `json:"failed"` // it sends, or executes, nothing more
}

// announces is the purpose of the proof of an announcement.
const announces = "announcement"

// Nodes knows the other nodes of a stream by their announcements.
//
//	message = PROOF " " the Announcement as JSON
//
// Owner: one goroutine calls Take. Any goroutine calls List: what it reads is immutable, and replaced as a whole.
type Nodes struct {
	own   uint64 // ID of this node
	epoch string // of the stream; an announcement counts at no other one
	ring  *clusterkey.Ring
	heard atomic.Pointer[[]Heard] // the newest announcement of each ID
}

// Heard is the newest announcement of a node.
type Heard struct {
	Announcement
	FirstNs, AtNs int64 // when the first one and this one arrived, by this machine's clock
}

// NewNodes returns the Nodes of the node with an ID.
func NewNodes(own uint64, epoch string, ring *clusterkey.Ring) *Nodes {
	n := &Nodes{own: own, epoch: epoch, ring: ring}
	n.heard.Store(&[]Heard{})
	return n
}

// Announce returns the message of this node's announcement.
func (n *Nodes) Announce(a Announcement, nowNs int64) []byte {
	a.ID, a.SentMs = n.own, nowNs/int64(time.Millisecond)
	text, err := json.Marshal(&a)
	if err != nil {
		panic("BUG: node: an announcement: " + err.Error()) // it has texts and numbers only
	}
	return append([]byte(n.ring.Prove(announces, n.epoch, string(text))+" "), text...)
}

// Take notes the announcement of a message. One of this node, one that no key of the ring has signed, and one that is
// repeated or old, changes nothing. A further node beyond maxNodes is not noted.
func (n *Nodes) Take(message []byte, nowNs int64) {
	a, ok := n.read(message)
	if !ok || a.ID == n.own || !timely(a.SentMs, nowNs) {
		return
	}
	now := Heard{a, nowNs, nowNs}
	var all []Heard
	for _, h := range *n.heard.Load() {
		switch {
		case h.ID == a.ID && h.SentMs >= a.SentMs:
			return
		case h.ID == a.ID:
			now.FirstNs = h.FirstNs
		case timely(h.SentMs, nowNs): // as long as it could be repeated
			all = append(all, h)
		}
	}
	if len(all) < maxNodes {
		all = append(all, now)
		n.heard.Store(&all)
	}
}

func (n *Nodes) read(message []byte) (a Announcement, ok bool) {
	if len(message) > maxAnnouncement {
		return a, false
	}
	proof, text, _ := strings.Cut(string(message), " ")
	if !n.ring.Proves(proof, announces, n.epoch, text) || json.Unmarshal([]byte(text), &a) != nil {
		return a, false
	}
	return a, a.Role == RoleWriter || a.Role == RoleStandby || a.Role == RoleReplica
}

func timely(sentMs, nowNs int64) bool {
	age := nowNs/int64(time.Millisecond) - sentMs
	return max(age, -age) <= maxApart.Milliseconds()
}

// List returns the nodes that are not silent, by their addresses. A node that has begun again at its address, or in
// another role, is one node.
func (n *Nodes) List(nowNs int64) (list []Heard) {
	all := *n.heard.Load()
	for _, h := range all {
		again := h.Address != "" && slices.ContainsFunc(all, func(later Heard) bool {
			return later.Address == h.Address && later.FirstNs > h.AtNs
		})
		if !again && nowNs-h.AtNs <= int64(heardFor) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Heard) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.ID, b.ID))
	})
	return list
}
