package machine

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// someSettings returns settings with commissions.
func someSettings() Settings {
	s := FirstSettings()
	s.Accounts.Withdrawal = accounts.CommissionRule{Percent: 7, Minimum: fixed.I128{Lo: 3}}
	s.Accounts.Commissions = []accounts.Commission{
		{Withdrawal: true, Currency: "USDT", Adapter: "trc20", CommissionRule: accounts.CommissionRule{Percent: 1}},
		{Currency: "BTC", CommissionRule: accounts.CommissionRule{Minimum: fixed.I128{Hi: 1, Lo: 2}}},
	}
	return s
}

// Settings read back as they were. Whatever is missing, left over or changed, the decoder refuses the bytes and says
// so, or reads settings that have exactly these bytes.
func TestSettingsAreDecodedStrictly(t *testing.T) {
	s := someSettings()
	b := s.Append(nil)
	back, err := DecodeSettings(b)
	if err != nil || !reflect.DeepEqual(back, s) {
		t.Fatalf("%v\n%+v\n%+v", err, back, s)
	}
	for n := range b {
		if _, err := DecodeSettings(b[:n]); err == nil || !strings.Contains(err.Error(), "settings of the exchange") {
			t.Errorf("the first %d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := DecodeSettings(append(b[:len(b):len(b)], 0)); err == nil {
		t.Error("a byte is left over")
	}
	b[0]++
	if _, err := DecodeSettings(b); err == nil ||
		!strings.Contains(err.Error(), "format 4; this program reads format 3") {
		t.Errorf("another format: %v", err)
	}
	b[0]--
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		damaged := append([]byte(nil), b...)
		for range 1 + rnd.IntN(3) {
			damaged[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
		}
		if s, err := DecodeSettings(damaged); err == nil && string(s.Append(nil)) != string(damaged) {
			t.Fatalf("%x reads as %+v", damaged, s)
		}
	}
}

// Every setting counts: one that is changed makes other settings.
func TestEverySettingIsInTheRecord(t *testing.T) {
	was := someSettings()
	for name, change := range map[string]func(s *Settings){
		"open orders": func(s *Settings) { s.Engine.OpenOrders++ },
		"orders":      func(s *Settings) { s.Engine.AccountOrders++ },
		"stops":       func(s *Settings) { s.Engine.AccountStops++ },
		"trades min":  func(s *Settings) { s.Market.TradesMin++ },
		"trades max":  func(s *Settings) { s.Market.TradesMax++ },
		"candles":     func(s *Settings) { s.Market.Candles[marketdata.Intervals-1]++ },
		"closed":      func(s *Settings) { s.Market.ClosedOrders++ },
		"fills":       func(s *Settings) { s.Market.Fills++ },
		"client ids":  func(s *Settings) { s.Market.ClientIDs++ },
		"lists":       func(s *Settings) { s.Market.Lists++ },
		"withdrawal":  func(s *Settings) { s.Accounts.Withdrawal.Percent++ },
		"minimum":     func(s *Settings) { s.Accounts.Withdrawal.Minimum.Hi++ },
		"currency": func(s *Settings) {
			s.Accounts.Commissions = s.Accounts.Commissions[:1]
		},
		"fee":      func(s *Settings) { s.Launchpad.Fee = s.Launchpad.NativeUSD },
		"cooldown": func(s *Settings) { s.Launchpad.CooldownNs++ },
		"native":   func(s *Settings) { s.Launchpad.NativeUSD = s.Launchpad.Fee },
		"quorum":   func(s *Settings) { s.Hive.QuorumCents++ }, "queens": func(s *Settings) { s.Hive.Queens++ },
		"scouts": func(s *Settings) { s.Hive.Scouts++ },
	} {
		now := someSettings()
		change(&now)
		if was.Equal(&now) {
			t.Errorf("%s: no other settings", name)
		}
		if back, err := DecodeSettings(now.Append(nil)); err != nil || !back.Equal(&now) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A record of settings that cannot be read names its place and changes nothing.
func TestASettingsRecordThatCannotBeReadIsRefused(t *testing.T) {
	s := New(Options{})
	good := someSettings()
	good.Engine.AccountOrders = 5
	record := func(encoded []byte) *Record {
		cmd := engine.Command{
			Kind: engine.SetSettings, Pair: engine.ControlPair, TimeNs: 7,
			Control: &engine.ControlRecord{Settings: encoded},
		}
		return &Record{Pos: 1, Payload: engine.AppendCommand(nil, &cmd), File: "x.wal", Offset: 64}
	}
	bad := good
	bad.Hive.Queens = 0
	huge := good.Append(nil)
	for name, encoded := range map[string][]byte{
		"empty": nil, "truncated": good.Append(nil)[:20], "out of range": bad.Append(nil),
		"left over": binary.AppendUvarint(huge[:len(huge):len(huge)], 1),
	} {
		err := s.Apply(record(encoded))
		if err == nil || !strings.Contains(err.Error(), "x.wal: record 1 at offset 64") ||
			!strings.Contains(err.Error(), "settings") {
			t.Errorf("%s: %v", name, err)
		}
		if first := FirstSettings(); s.Pos != 0 || !s.Settings.Equal(&first) {
			t.Errorf("%s: the state has changed", name)
		}
	}
	if err := s.Apply(record(good.Append(nil))); err != nil || s.Pos != 1 || !s.Settings.Equal(&good) || s.LastNs != 7 {
		t.Errorf("%v: position %d", err, s.Pos)
	}
}
