package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

func payload(timestampMs int64) *Payload {
	p := &Payload{
		Text: []byte("symbol=BTCUSDT"), PublicKey: []byte("pubKEY123"),
		Stamp:  Stamp{Sent: timestampMs, Window: 5000, UnitNs: msNs},
		Remote: netip.MustParseAddr("127.0.0.1"),
	}
	m := hmac.New(sha256.New, []byte("privKEY456"))
	m.Write(p.Text)
	p.Signature = []byte(hex.EncodeToString(m.Sum(nil)))
	return p
}

// A payload has no nonce: it counts as often as it comes within its window, and takes none of the key's nonces. A
// request of the default scheme still counts once.
func TestAPayloadCountsWithinItsWindow(t *testing.T) {
	s := newSigner(Options{})
	for _, nowNs := range []int64{t0, t0, t0 + 5_000*msNs} {
		if _, reject := s.v.VerifyPayload(nowNs, payload(t0Ms)); reject != nil {
			t.Errorf("%d ms later: %v", (nowNs-t0)/msNs, reject)
		}
	}
	if n := s.keys.find([]byte("pubKEY123")).nonces.count; n != 0 {
		t.Errorf("%d nonces are remembered", n)
	}
	for nowMs, p := range map[int64]*Payload{t0Ms + 5001: payload(t0Ms), t0Ms: payload(t0Ms + AheadMs)} {
		_, reject := s.v.VerifyPayload(nowMs*msNs, p)
		wantReject(t, reject, refuse.Unauthorized, "timestamp")
	}
	s = newSigner(Options{})
	if _, reject := s.v.Verify(t0, request("POST", "/", "", "n")); reject != nil {
		t.Fatal(reject)
	}
	_, reject := s.v.Verify(t0, request("POST", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
}

// A stamp in microseconds is compared in microseconds, but for the second ahead.
func TestAStampHasTheUnitOfItsSender(t *testing.T) {
	const us, now = 1000, t0 + 700*1000 // 700 us into a millisecond
	for name, c := range map[string]struct {
		stamp Stamp
		in    bool
	}{
		"ms, the window's last": {Stamp{t0Ms - 5, 5, msNs}, true},
		"ms, one too old":       {Stamp{t0Ms - 6, 5, msNs}, false},
		"us, the window's last": {Stamp{t0Ms*1000 + 700 - 5_346, 5_346, us}, true},
		"us, one too old":       {Stamp{t0Ms*1000 + 699 - 5_346, 5_346, us}, false},
		"us, the last ahead":    {Stamp{(t0Ms+AheadMs)*1000 - 1, 5_346, us}, true},
		"us, too far ahead":     {Stamp{(t0Ms + AheadMs) * 1000, 5_346, us}, false},
		"ms, too far ahead":     {Stamp{t0Ms + AheadMs, 5, msNs}, false},
	} {
		if in := c.stamp.In(now); in != c.in {
			t.Errorf("%s: %v", name, in)
		}
	}
}

// An unknown key is told from a wrong signature, as on the other exchange.
func TestAnUnknownKeyOfAPayload(t *testing.T) {
	s := newSigner(Options{})
	p := payload(t0Ms)
	p.PublicKey = []byte("pubKEY124")
	_, reject := s.v.VerifyPayload(t0, p)
	wantReject(t, reject, refuse.Unauthorized, "key")
	p = payload(t0Ms)
	p.Text = append(p.Text, '0')
	_, reject = s.v.VerifyPayload(t0, p)
	wantReject(t, reject, refuse.Unauthorized, "signature")
}

// A start refuses the payloads that an earlier process may have accepted, also those that were dated ahead.
func TestAStartRefusesOlderPayloads(t *testing.T) {
	s := newSigner(Options{})
	s.v.RefuseBefore(t0Ms + AheadMs)
	for _, sentMs := range []int64{t0Ms - 1, t0Ms, t0Ms + AheadMs - 1} {
		_, reject := s.v.VerifyPayload(t0+500*msNs, payload(sentMs))
		wantReject(t, reject, refuse.Unauthorized, "timestamp")
	}
	if _, reject := s.v.VerifyPayload(t0+500*msNs, payload(t0Ms+AheadMs)); reject != nil {
		t.Error(reject)
	}
	s = newSigner(Options{})
	s.v.RefuseBefore(t0Ms)
	if _, reject := s.v.VerifyPayload(t0, payload(t0Ms)); reject != nil {
		t.Errorf("on a virtual clock: %v", reject)
	}
	_, reject := s.v.VerifyPayload(t0, payload(t0Ms-1))
	wantReject(t, reject, refuse.Unauthorized, "timestamp")
}
