package client

import "testing"

// The vectors of docs/contract/streams.md#checksum.
func TestChecksumVectors(t *testing.T) {
	b := &Book{
		Bids: []BookLevel{{"65000.50", "0.12500000"}, {"65000.00", "1.00000000"}},
		Asks: []BookLevel{{"65001.00", "0.50000000"}},
	}
	if got := b.Checksum(); got != 1722274598 {
		t.Errorf("checksum %d, want 1722274598", got)
	}
	if got := (&Book{}).Checksum(); got != 2343686810 {
		t.Errorf("empty checksum %d, want 2343686810", got)
	}
}

// The vectors of docs/contract/signing.md#signature.
func TestSignVectors(t *testing.T) {
	const key, ts = "privKEY456", "1767225600000"
	got := Sign(key, ts, "n-1", "GET", "/api/affiliate/accruals?pageNumber=1&currencyCode=US%44T", nil)
	if want := "7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37"; got != want {
		t.Errorf("GET signature %s, want %s", got, want)
	}
	got = Sign(key, ts, "n-2", "POST", "/api/launchpad/spawn", []byte(`{"name":"My Token","symbol":"ALPHA"}`))
	if want := "1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e"; got != want {
		t.Errorf("POST signature %s, want %s", got, want)
	}
}

func TestBookChainAndChecksum(t *testing.T) {
	b := &Book{}
	snap := &Message{Type: "snapshot", Seq: 5, Bids: [][2]Decimal{{"9.0", "1.0"}}, Asks: [][2]Decimal{{"10.0", "2.0"}}}
	snap.Checksum = (&Book{Bids: []BookLevel{{"9.0", "1.0"}}, Asks: []BookLevel{{"10.0", "2.0"}}}).Checksum()
	if err := b.Apply(snap); err != nil {
		t.Fatal(err)
	}
	next := &Message{Type: "update", PrevSeq: 5, Seq: 7, Asks: [][2]Decimal{{"10.0", "0.0"}, {"11.0", "3.0"}}}
	next.Checksum = (&Book{Bids: []BookLevel{{"9.0", "1.0"}}, Asks: []BookLevel{{"11.0", "3.0"}}}).Checksum()
	if err := b.Apply(next); err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(next); err != nil { // a repeat
		t.Fatal(err)
	}
	if err := b.Apply(&Message{Type: "update", PrevSeq: 8, Seq: 9}); err == nil || b.Ready() {
		t.Fatal("a gap was not noticed")
	}
}
