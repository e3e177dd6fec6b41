package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// slowServer answers a follower on a virtual clock as the exchange does: 20 messages a
// second of its own clock, the rest refused without a word on what they asked for.
type slowServer struct {
	f       *Follower
	now     time.Time
	second  int64
	count   int
	refused int
	asked   []Request
	subs    map[string]bool
	unknown string // a pair that does not exist
	bad     bool   // snapshots have a wrong checksum
}

func newSlowServer(pairs int) *slowServer {
	var codes []string
	for i := range pairs {
		codes = append(codes, fmt.Sprintf("C%02d_USDT", i))
	}
	f := &Follower{Books: map[string]*Book{}, depth: 10, interval: 100, resyncs: newResyncer(codes)}
	for _, c := range codes {
		f.Books[c] = &Book{}
	}
	s := &slowServer{f: f, now: time.Unix(1_700_000_000, 0), subs: map[string]bool{}}
	s.handle(f.due(s.now))
	return s
}

func (s *slowServer) say(m Message) {
	m.Channel = "book"
	s.handle(s.f.receive(&m, s.now))
}

func (s *slowServer) handle(requests []Request) {
	for _, r := range requests {
		if sec := s.now.Unix(); sec != s.second {
			s.second, s.count = sec, 0
		}
		if s.count++; s.count > 20 {
			s.refuse()
			continue
		}
		s.asked = append(s.asked, r)
		for _, p := range r.Pairs {
			s.answer(r, p)
		}
	}
}

// refuse answers a message over the limit; the error names no pair.
func (s *slowServer) refuse() {
	s.refused++
	s.handle(s.f.receive(&Message{Type: "error", Code: "RATE_LIMIT"}, s.now))
}

func (s *slowServer) answer(r Request, pair string) {
	id, _ := json.Marshal(r.ID)
	if pair == s.unknown || r.Op == "resync" && !s.subs[pair] {
		s.say(Message{Type: "error", ID: id, Pair: pair, Code: "NOT_FOUND"})
		return
	}
	if r.Op == "subscribe" {
		s.subs[pair] = true
		s.say(Message{Type: "subscribed", ID: id, Pair: pair})
	}
	if r.FromSeq != nil {
		return
	}
	m := Message{Type: "snapshot", Pair: pair, Seq: 9, Checksum: (&Book{}).Checksum()}
	if s.bad {
		m.Checksum++
	}
	s.say(m)
}

// pass advances the clock, with a heartbeat of every subscription each second.
func (s *slowServer) pass(seconds int) {
	for range seconds {
		s.now = s.now.Add(time.Second)
		for _, p := range s.pairs() {
			if s.subs[p] {
				s.say(Message{Type: "heartbeat", Pair: p, Seq: 9})
			}
			s.now = s.now.Add(time.Millisecond)
		}
	}
}

func (s *slowServer) pairs() (codes []string) {
	for p := range s.f.Books {
		codes = append(codes, p)
	}
	slices.Sort(codes)
	return codes
}

func (s *slowServer) wrong() (codes []string) {
	for _, p := range s.pairs() {
		if !s.f.Books[p].Ready() || !s.subs[p] {
			codes = append(codes, p)
		}
	}
	return codes
}

// Books that fail at once are all repaired, and the server refuses nothing.
func TestBooksThatFailTogetherAreRepairedTogether(t *testing.T) {
	s := newSlowServer(60)
	for _, b := range s.f.Books {
		b.Seq += 5 // a line that lost an update of each
	}
	before := len(s.asked)
	s.pass(2)
	if wrong := s.wrong(); len(wrong) > 0 || s.refused > 0 {
		t.Errorf("%d of 60 books are wrong after two seconds, %d messages were refused", len(wrong), s.refused)
	}
	if n := len(s.asked) - before; n > 2 || s.f.Resyncs != 60 {
		t.Errorf("%d resyncs in %d messages, want 60 in at most 2", s.f.Resyncs, n)
	}
}

// A resync that the server refused is repeated.
func TestARefusedResyncIsRepeated(t *testing.T) {
	s := newSlowServer(30)
	s.pass(2)
	s.count, s.second = 20, s.now.Unix() // the caller has sent the messages of this second
	for _, p := range s.pairs() {
		s.say(Message{Type: "update", Pair: p, PrevSeq: 10, Seq: 11})
	}
	if s.refused == 0 || len(s.wrong()) != 30 {
		t.Fatalf("%d refused, %d wrong: the limit was not met", s.refused, len(s.wrong()))
	}
	s.pass(3)
	if wrong := s.wrong(); len(wrong) > 0 {
		t.Errorf("wrong for ever: %v", wrong)
	}
}

// A book whose snapshots are always wrong is requested once a second.
func TestABookThatIsAlwaysWrongIsRequestedOnceASecond(t *testing.T) {
	s := newSlowServer(1)
	s.bad = true
	s.f.Books["C00_USDT"].Seq = 1
	before := len(s.asked)
	s.pass(10)
	if n := len(s.asked) - before; n < 9 || n > 11 {
		t.Errorf("%d resyncs in 10 s", n)
	}
	s.bad = false
	s.pass(2)
	if !s.f.Books["C00_USDT"].Ready() {
		t.Error("the book stays wrong")
	}
}

// A reconnect subscribes to any number of pairs within the limit, even when the caller has used a
// part of it.
func TestAReconnectSubscribesToEveryPair(t *testing.T) {
	for _, used := range []int{0, 18} {
		s := newSlowServer(60)
		s.subs, s.f.resyncs = map[string]bool{}, newResyncer(s.pairs())
		s.count, s.second = used, s.now.Unix()
		s.handle(s.f.due(s.now))
		if used == 0 && s.refused > 0 || used > 0 && s.refused == 0 {
			t.Errorf("%d used: %d refused", used, s.refused)
		}
		s.pass(8)
		if wrong := s.wrong(); len(wrong) > 0 || s.f.Resyncs > 0 {
			t.Errorf("%d used: %d pairs have no subscription, %d resyncs", used, len(wrong), s.f.Resyncs)
		}
	}
}

// A subscription that the server lost is repeated; a pair that does not exist is not requested
// again.
func TestAnswersThatNameAPair(t *testing.T) {
	s := newSlowServer(3)
	delete(s.subs, "C01_USDT")
	s.say(Message{Type: "update", Pair: "C01_USDT", PrevSeq: 10, Seq: 11})
	s.pass(3)
	if wrong := s.wrong(); len(wrong) > 0 {
		t.Errorf("not subscribed to again: %v", wrong)
	}

	s = newSlowServer(3)
	s.unknown, s.subs = "C02_USDT", map[string]bool{}
	for _, b := range s.f.Books {
		*b = Book{}
	}
	s.asked, s.f.resyncs = nil, newResyncer(s.pairs())
	s.handle(s.f.due(s.now))
	s.pass(5)
	if len(s.asked) != 1 || len(s.wrong()) != 1 {
		t.Errorf("%d requests, %v without a book; want 1 request", len(s.asked), s.wrong())
	}
}
