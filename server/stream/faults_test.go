package stream

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/fault"
)

// faultyHub returns a hub with fault rules, and a client that has the snapshot of the full book of AA_BB. Its machine
// clock does not move.
func faultyHub(t testing.TB, rules ...string) (x *manualHub, c *session, nowNs *int64) {
	t.Helper()
	x = newManualHub(t, marketdataDefaults, "AA_BB", "CC_DD")
	nowNs = new(int64)
	*nowNs = x.opts.MachineNs()
	x.opts.MachineNs = func() int64 { return *nowNs }
	x.opts.Faults = &fault.Switch{}
	parsed, err := fault.ParseAll(rules)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.opts.Faults.Add(parsed, 0); err != nil {
		t.Fatal(err)
	}
	c = x.connect()
	c.socket, _ = net.Pipe()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0,"depth":0}`)
	if got, _ := x.read(c); len(got) != 2 {
		t.Fatalf("%d messages instead of an acknowledgement and a snapshot", len(got))
	}
	return x, c, nowNs
}

// publish publishes n changes of AA_BB, each with its own delivery, and returns the seqs of the updates that c gets.
func (x *manualHub) publish(c *session, n int) (seqs []uint64) {
	for range n {
		x.bid(0, 100+int64(x.market.Feed.Board().Load().SeqSum))
		x.runPublished()
	}
	return x.seqs(c)
}

func (x *manualHub) seqs(c *session) (seqs []uint64) {
	got, _ := x.read(c)
	for _, m := range got {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// Each fault of streams reaches the messages that it should, and no others.
func TestFaultsOfStreams(t *testing.T) {
	plain, c, _ := faultyHub(t)
	base := plain.publish(c, 4)
	if len(base) != 4 {
		t.Fatalf("%d updates without rules", len(base))
	}
	at := func(order ...int) string {
		var seqs []uint64
		for _, i := range order {
			seqs = append(seqs, base[i])
		}
		return fmt.Sprint(seqs)
	}
	for _, f := range []struct{ rule, want string }{
		{"drop count=2", at(2, 3)},
		{"drop pair=CC_DD", at(0, 1, 2, 3)},
		{"drop channel=trades", at(0, 1, 2, 3)},
		{"drop pair=AA_BB channel=book", at()},
		{"repeat count=1", at(0, 0, 1, 2, 3)},
		{"reorder count=1", at(1, 0, 2, 3)},
		{"reorder", at(1, 0, 3, 2)},
		{"close channel=book count=1", at()},
		{"half-open channel=book count=1", at()},
		{"delay delay=1s count=1", at()},
	} {
		x, c, _ := faultyHub(t, f.rule)
		if got := fmt.Sprint(x.publish(c, 4)); got != f.want {
			t.Errorf("%s: seqs %s, want %s", f.rule, got, f.want)
		}
	}
}

// A rule does not count a fault of a message that a later rule loses, or whose connection ends.
func TestFaultsOfLostMessagesAreNotCounted(t *testing.T) {
	for _, last := range []string{"drop count=1", "close channel=book count=1"} {
		x, c, _ := faultyHub(t, "repeat", "gap", "delay delay=1s", last)
		x.publish(c, 1)
		for i, a := range x.opts.Faults.List(0) {
			want := fault.Counts{Matched: 1}
			if i == 3 {
				want.Applied = 1
			}
			if got := a.Counts(); got != want {
				t.Errorf("%s: %s counts %+v, want %+v", last, a.Action, got, want)
			}
		}
	}
	x, c, _ := faultyHub(t, "repeat", "drop pair=CC_DD")
	x.publish(c, 1)
	if got := x.opts.Faults.List(0)[0].Counts(); got != (fault.Counts{Matched: 1, Applied: 1}) {
		t.Errorf("without a loss: %+v", got)
	}
}

// A rule can name each channel.
func TestRulesTakeTheNamesOfChannels(t *testing.T) {
	for c := chTicker; c <= chBalances; c++ {
		if _, err := fault.Parse("drop channel=" + streamKey{channel: c}.name()); err != nil {
			t.Error(err)
		}
	}
}

// A delayed message keeps its place: those behind it wait. It is sent at the first tick after its time, and when the
// rule is removed.
func TestDelayedMessagesStayInOrder(t *testing.T) {
	x, c, now := faultyHub(t, "delay delay=1s count=1")
	if got := x.publish(c, 3); len(got) != 0 {
		t.Fatalf("messages %v overtake a delayed one", got)
	}
	*now += int64(time.Second) - 1
	x.faulty.releaseDue()
	if got := x.seqs(c); len(got) != 0 {
		t.Fatalf("messages %v come too early", got)
	}
	*now++
	x.faulty.releaseDue()
	got := x.seqs(c)
	if len(got) != 3 || got[0] >= got[1] || got[1] >= got[2] {
		t.Errorf("after its time: %v", got)
	}
	if next := x.publish(c, 1); len(next) != 1 || x.faulty.count != 0 || x.faulty.bytes != 0 {
		t.Errorf("afterwards %v; %d messages of %d bytes are held", next, x.faulty.count, x.faulty.bytes)
	}

	x, c, _ = faultyHub(t, "delay delay=1s")
	x.publish(c, 2)
	x.opts.Faults.Remove(0)
	if got := x.publish(c, 1); len(got) != 3 || got[0] >= got[1] || got[1] >= got[2] {
		t.Errorf("after the rule: %v", got)
	}
}

// A gap and a wrong checksum change one member and nothing else.
func TestFalsifiedMembers(t *testing.T) {
	plain, pc, _ := faultyHub(t)
	plain.bid(0, 100)
	plain.runPublished()
	want, _ := plain.texts(pc)
	for _, rule := range []string{"gap", "checksum"} {
		x, c, _ := faultyHub(t, rule+" count=1")
		x.bid(0, 100)
		x.runPublished()
		got, _ := x.texts(c)
		if len(got) != 1 || len(want) != 1 || string(got[0]) == string(want[0]) {
			t.Fatalf("%s: %s, without the rule %s", rule, got, want)
		}
		member := memberOf(map[string]fault.Action{"gap": fault.Gap, "checksum": fault.Checksum}[rule])
		undo := func(n uint64) uint64 { return n - 1 }
		if rule == "checksum" {
			undo = func(n uint64) uint64 { return n ^ 1 }
		}
		back := changed(&message{frame: newFrame(opText, got[0])}, member, undo)
		if string(back.frame.payload()) != string(want[0]) {
			t.Errorf("%s changes more than its member: %s, want %s", rule, got[0], want[0])
		}
	}
}

// A client recovers from a lost message by resync, because snapshots are never faulty; held messages of before do not
// come after the snapshot.
func TestResyncIsFreeOfFaults(t *testing.T) {
	x, c, now := faultyHub(t, "drop channel=book count=1", "delay delay=1s")
	x.publish(c, 3)
	x.ask(c, `{"op":"resync","channel":"book","pairs":["AA_BB"]}`)
	got, _ := x.read(c)
	if len(got) != 1 || got[0].Type != "snapshot" || got[0].Reason != "resync" {
		t.Fatalf("after a resync: %+v", got)
	}
	*now += int64(time.Minute)
	x.faulty.releaseDue()
	if late := x.seqs(c); len(late) != 0 || x.faulty.count != 0 {
		t.Errorf("messages %v from before the snapshot; %d are held", late, x.faulty.count)
	}
}

// The messages that rules hold back are bounded: beyond the bound they are sent, in order.
func TestHeldMessagesAreBounded(t *testing.T) {
	x, c, _ := faultyHub(t, "delay delay=1m")
	x.faulty.count = maxDelayedMessages - 2
	got := x.publish(c, 3)
	if len(got) != 3 || x.faulty.count != maxDelayedMessages-2 {
		t.Fatalf("%v are sent, %d are held", got, x.faulty.count)
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Errorf("out of order: %v", got)
		}
	}
}

// The same rules make the same faults of the same messages.
func TestFaultsOfStreamsRepeat(t *testing.T) {
	run := func() string {
		x, c, _ := faultyHub(t, "drop probability=0.3 seed=4", "repeat probability=0.2", "reorder probability=0.2")
		return fmt.Sprint(x.publish(c, 50))
	}
	if first, again := run(), run(); first != again {
		t.Errorf("two runs differ:\n%s\n%s", first, again)
	}
}

// BenchmarkDeliver measures the delivery of a message to 256 subscribers, without rules, with a rule of another
// channel and with a rule that never happens.
func BenchmarkDeliver(b *testing.B) {
	for _, rules := range [][]string{nil, {"drop channel=trades"}, {"drop probability=0.000001"}} {
		b.Run(fmt.Sprint(rules), func(b *testing.B) {
			x, c, _ := faultyHub(b, rules...)
			s := c.hub.subs[streamKey{channel: chBook}].stream
			conns := []*session{c}
			for range 255 {
				c := x.connect()
				x.ask(c, `{"op":"subscribe","channel":"book","pairs":["AA_BB"],"interval":0,"depth":0}`)
				conns = append(conns, c)
			}
			payload := make([]byte, 200)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				x.send(s, payload)
				x.deliver()
				if i%64 == 63 {
					b.StopTimer()
					for _, c := range conns {
						x.frames(c)
					}
					b.StartTimer()
				}
			}
		})
	}
}
