package conn

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// enterFrom lets a connection from an address in; it returns nil when the table refuses it.
func enterFrom(t *testing.T, table *Table, ip string) *Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	c, _ := table.enter(near, netip.MustParseAddr(ip))
	return c
}

// A full table closes the connection that never sent a complete request, longest open first, then
// the one that is idle longest. It closes none that is answered, and none of an exempt address.
func TestAFullTableClosesTheLeastUseful(t *testing.T) {
	exempt := netip.MustParsePrefix("192.0.2.0/24")
	table := NewTable(Limits{Total: 6, Exempt: []netip.Prefix{exempt}})
	start := time.Now()
	var conns []*Conn
	for _, ip := range []string{"192.0.2.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"} {
		conns = append(conns, enterFrom(t, table, ip))
	}
	idle := func(i int, since time.Duration) {
		if !conns[i].BeginRequest() {
			t.Fatalf("connection %d was closed", i)
		}
		if err := conns[i].SetReadDeadline(start.Add(since)); err != nil {
			t.Fatal(err)
		}
	}
	if !conns[1].BeginRequest() { // and its answer is not complete
		t.Fatal("closed")
	}
	idle(2, 5*time.Second)
	idle(3, 4*time.Second)
	gone := func(i int) bool { return conns[i].closed.Load() }
	for n, want := range []int{4, 5, 6, 7} { // the last two are new ones
		c := enterFrom(t, table, "10.0.0.9")
		if c == nil {
			t.Fatalf("connection %d was refused", n)
		}
		conns = append(conns, c)
		for i := range conns {
			if closed := i >= 4 && i <= want; gone(i) != closed {
				t.Errorf("after %d more: connection %d closed: %v, want %v", n+1, i, gone(i), closed)
			}
		}
	}
	idle(9, 6*time.Second)
	for _, want := range []int{8, 3, 2, 9} { // 8 sent nothing, then the one that waits longest
		c := enterFrom(t, table, "10.0.0.9")
		if c == nil || !gone(want) || !c.BeginRequest() {
			t.Fatalf("connection %d is open: %v, %v", want, !gone(want), c)
		}
	}
	if c := enterFrom(t, table, "10.0.0.10"); c != nil || gone(0) || gone(1) {
		t.Errorf("with every connection in use: %v, exempt closed: %v, busy closed: %v", c, gone(0), gone(1))
	}
	if table.Open() != 6 || table.Evicted() != 8 {
		t.Errorf("%d open, %d closed for others", table.Open(), table.Evicted())
	}
	if conns[4].BeginRequest() {
		t.Error("a request on a connection that was closed for another runs")
	}
}

// One look at a full table serves many new connections.
func TestOneLookServesManyConnections(t *testing.T) {
	table := NewTable(Limits{Total: 3 * victimBatch})
	var conns []*Conn
	for range 5 * victimBatch {
		c := enterFrom(t, table, "10.0.0.1")
		if c == nil {
			t.Fatal("refused")
		}
		conns = append(conns, c)
	}
	for i, c := range conns {
		if want := i < 2*victimBatch; c.closed.Load() != want {
			t.Fatalf("connection %d closed: %v, want %v", i, c.closed.Load(), want)
		}
	}
}

// A /24 and a /48 have their share; loopback and exempt addresses have none.
func TestNetworksShareTheConnections(t *testing.T) {
	table := NewTable(Limits{
		Total: 100, PerAddress: 4, PerNetwork: 3, Exempt: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")},
	})
	for _, c := range []struct {
		ip   string
		want bool
	}{
		{"192.0.2.1", true},
		{"192.0.2.1", true},
		{"192.0.2.250", true},
		{"192.0.2.9", false},
		{"192.0.3.9", true},
		{"2001:db8:1:1::1", true},
		{"2001:db8:1:2::1", true},
		{"2001:db8:1:3::1", true},
		{"2001:db8:1:4::1", false},
		{"2001:db8:2::1", true},
		{"127.0.0.1", true},
		{"127.0.0.1", true},
		{"127.0.0.2", true},
		{"127.0.0.3", true},
		{"127.0.0.1", true},
		{"127.0.0.1", true},
		{"127.0.0.1", false}, // the limit of an address holds for loopback too
		{"203.0.113.7", true},
		{"203.0.113.7", true},
		{"203.0.113.7", true},
		{"203.0.113.7", true},
		{"203.0.113.7", true},
	} {
		if got := enterFrom(t, table, c.ip) != nil; got != c.want {
			t.Errorf("%s: let in: %v, want %v", c.ip, got, c.want)
		}
	}
	first := enterFrom(t, table, "198.51.100.1")
	_, _ = enterFrom(t, table, "198.51.100.2"), enterFrom(t, table, "198.51.100.3")
	if enterFrom(t, table, "198.51.100.4") != nil {
		t.Error("a fourth connection of a network")
	}
	_ = first.Close()
	if enterFrom(t, table, "198.51.100.4") == nil {
		t.Error("a place that was left is not given again")
	}
}

// An upgraded connection that is spare is closed for another one, after those that sent no request, in the order in
// which it became spare. One that is used again is not.
func TestSpareUpgradedConnectionsAreClosedForOthers(t *testing.T) {
	table := NewTable(Limits{Total: 4})
	var conns []*Conn
	for range 4 {
		c := enterFrom(t, table, "10.0.0.1")
		conns = append(conns, c)
		if len(conns) < 4 && !c.BeginRequest() { // the last one stays without a request
			t.Fatal("closed")
		}
	}
	for _, i := range []int{1, 0, 2} {
		for range 2 { // its age stays
			if !conns[i].SetSpare(true) {
				t.Fatal("closed")
			}
		}
	}
	conns[2].SetSpare(false)
	if err := conns[2].SetReadDeadline(time.Now().Add(time.Hour)); err != nil { // as the reader of a WebSocket does
		t.Fatal(err)
	}
	for n, want := range []int{3, 1, 0} {
		c := enterFrom(t, table, "10.0.0.9")
		if c == nil || !conns[want].closed.Load() || !c.BeginRequest() {
			t.Fatalf("connection %d: connection %d is open: %v, %v", n, want, !conns[want].closed.Load(), c)
		}
	}
	if c := enterFrom(t, table, "10.0.0.9"); c != nil || conns[2].closed.Load() {
		t.Errorf("a used upgraded connection is closed: %v", conns[2].closed.Load())
	}
	if conns[0].SetSpare(false) || conns[0].BeginRequest() {
		t.Error("a closed connection came back")
	}
}

// lentConn is lent by the server to an upgrade callback, and to another client afterwards.
type lentConn struct{ net.Conn }

func (c *lentConn) UnsafeConn() net.Conn { return c.Conn }

func TestASpareMarkStaysWithItsClient(t *testing.T) {
	table := NewTable(Limits{Total: 2})
	first, second := enterFrom(t, table, "10.0.0.1"), enterFrom(t, table, "10.0.0.2")
	if !first.BeginRequest() || !second.BeginRequest() {
		t.Fatal("closed")
	}
	lent := &lentConn{first}
	counted := Of(lent)
	lent.Conn = second
	if !counted.SetSpare(true) {
		t.Fatal("closed")
	}
	if second.use.Load() != useBusy || first.use.Load() == useBusy {
		t.Errorf("ranks %d of the first, %d of the second", first.use.Load(), second.use.Load())
	}
	lent.Conn = nil
	if none := Of(lent); none != nil || !none.SetSpare(true) {
		t.Error("a connection that is not the listener's is marked")
	}
}
