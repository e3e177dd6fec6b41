package machine

import (
	"bytes"
	"fmt"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/wire"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
)

// Settings holds every setting of the configuration by which records are decided or folded. They are a part of the
// state: a record of the log carries all of them, a start whose configuration differs writes one, and a replay
// reads no configuration.
type Settings struct {
	Engine    engine.Limits
	Market    marketdata.Retention
	Accounts  accounts.Settings // commissions of withdrawals, referral rates
	Launchpad launchpad.Options // but the seed
	Hive      hive.Options      // but seed and genesis
}

// settingsFormat is the version of an encoding of Settings. Another one is refused.
const settingsFormat = 3

// FirstSettings returns the settings of a log without a record of them. They never change, whatever the defaults of the
// configuration become.
func FirstSettings() Settings {
	return Settings{
		Engine: engine.Limits{OpenOrders: 8 << 20, AccountOrders: 1 << 20, AccountStops: 200, AccountLists: 20},
		Market: marketdata.Retention{
			TradesMin: 10_000, TradesMax: 2_000_000,
			Candles: [marketdata.Intervals]int{
				20_160, 10_080, 8_640, 8_640, 8_640, 8_760, 6_570, 7_300, 1_200, 1_000,
			},
			ClosedOrders: 100_000, Fills: 1_000_000, ClientIDs: 1_000_000, Lists: 10_000,
		},
		Accounts: accounts.Settings{Referral: accounts.DefaultConfig()},
		Launchpad: launchpad.Options{
			Fee: launchpad.AmountOf(100), CooldownNs: 86_400_000_000_000, NativeUSD: launchpad.AmountOf(1),
		},
		Hive: hive.Options{QuorumCents: 100_00, Queens: 3, Scouts: 2},
	}
}

// Append appends the encoding of the settings. Equal settings have equal bytes.
func (s *Settings) Append(dst []byte) []byte { return wire.Append(dst, s.code) }

// DecodeSettings decodes settings. It refuses bytes that are missing or left over, and values
// that no configuration has.
func DecodeSettings(b []byte) (s Settings, err error) {
	if err = wire.Decode(b, s.code); err == nil {
		err = s.validate()
	}
	if err != nil {
		return s, fmt.Errorf("machine: the settings of the exchange cannot be read: %w", err)
	}
	return s, nil
}

// Equal reports whether two settings are the same.
func (s *Settings) Equal(t *Settings) bool { return bytes.Equal(s.Append(nil), t.Append(nil)) }

// validate checks the values.
func (s *Settings) validate() error {
	for _, err := range []error{
		engine.Options{Limits: s.Engine}.Validate(), s.Market.Validate(), s.Accounts.Validate(), s.Launchpad.Validate(),
		s.Hive.Validate(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) code(c *wire.Coder) {
	format := uint8(settingsFormat)
	if c.U8(&format, 0xff); c.Reading() && format != settingsFormat {
		c.Fail("format %d; this program reads format %d", format, settingsFormat)
		return
	}
	m := &s.Market
	for _, n := range []*int{
		&s.Engine.OpenOrders, &s.Engine.AccountOrders, &s.Engine.AccountStops, &s.Engine.AccountLists,
		&m.TradesMin, &m.TradesMax, &m.ClosedOrders, &m.Fills, &m.ClientIDs, &m.Lists,
	} {
		codeInt(c, n)
	}
	for i := range m.Candles {
		codeInt(c, &m.Candles[i])
	}
	s.Accounts.Code(c)
	s.Launchpad.Code(c)
	c.I63(&s.Hive.QuorumCents)
	c.U32(&s.Hive.Queens)
	c.U32(&s.Hive.Scouts)
}

// codeInt encodes or decodes a number that is not negative.
func codeInt(c *wire.Coder, n *int) {
	v := uint64(*n)
	c.UpTo(&v, 1<<62)
	*n = int(v)
}
