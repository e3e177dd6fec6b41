package config

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/setting"
)

// AssetConfig is one configured currency. Amounts are in units of the currency, rates are fractions. A missing
// amount means "not configured" and is null in the API.
type AssetConfig struct {
	Symbol       string          `toml:"symbol" help:"code of the currency"`
	Name         string          `toml:"name" help:"at most 64 characters"`
	Digits       *int            `toml:"digits" help:"fractional digits of balances, 0 to 18; empty: 8"`
	Fiat         bool            `toml:"fiat" help:"a currency of a state"`
	UnifiedID    int64           `toml:"unified_cryptoasset_id" help:"unified id that aggregators use; empty: null"`
	WithdrawOff  bool            `toml:"withdraw_off" help:"no withdrawals"`
	DepositOff   bool            `toml:"deposit_off" help:"no deposits"`
	MinWithdraw  setting.Decimal `toml:"min_withdraw" help:"smallest withdrawal"`
	MaxWithdraw  setting.Decimal `toml:"max_withdraw" help:"largest withdrawal"`
	MakerFee     setting.Decimal `toml:"maker_fee" unit:"rate" help:"rate that the lists show for makers"`
	TakerFee     setting.Decimal `toml:"taker_fee" unit:"rate" help:"rate that the lists show for takers"`
	Adapter      string          `toml:"adapter" help:"code of the blockchain or fiat adapter, lower case"`
	RefillRate   setting.Decimal `toml:"refill_rate" unit:"rate" help:"commission rate of deposits"`
	RefillMin    setting.Decimal `toml:"refill_min" help:"smallest commission of a deposit"`
	WithdrawRate setting.Decimal `toml:"withdraw_rate" unit:"rate" help:"commission rate of withdrawals"`
	WithdrawMin  setting.Decimal `toml:"withdraw_min" help:"smallest commission of a withdrawal"`
}

// PairConfig is one configured pair. Reference and Weight apply to the simulated market only.
type PairConfig struct {
	Code         string          `toml:"code" help:"BASE_QUOTE"`
	DigitsPrice  int             `toml:"digits_price" help:"fractional digits of prices"`
	DigitsAmount int             `toml:"digits_amount" help:"fractional digits of amounts"`
	MinQuote     setting.Decimal `toml:"min_quote" help:"smallest price x amount of an order; empty: no minimum"`
	MaxQuote     setting.Decimal `toml:"max_quote" help:"largest price x amount of an order; empty: no maximum"`
	MaxPrice     setting.Decimal `toml:"max_price" help:"largest price of an order; empty: 9,000,000,000"`
	MaxAmount    setting.Decimal `toml:"max_amount" help:"largest amount of an order; empty: 9,000,000,000"`
	BandUp       setting.Decimal `toml:"price_band_up" help:"an order's price is at most this many times the last trade's; empty: no limit"`
	BandDown     setting.Decimal `toml:"price_band_down" help:"an order's price is at least this many times the last trade's; empty: no limit"`
	State        string          `toml:"state" help:"online, post_only, cancel_only or halted; empty: online"`
	MakerFee     setting.Decimal `toml:"maker_fee" help:"fee rate of makers; empty: 0.001"`
	TakerFee     setting.Decimal `toml:"taker_fee" help:"fee rate of takers; empty: 0.001"`
	Reference    setting.Decimal `toml:"reference" help:"simulated market: price at the start"`
	Weight       int             `toml:"weight" help:"simulated market: how busy the pair is, 1 to 1000; from 40 on it quotes one tick and about 1,150 levels a side"`
}

const defaultFee setting.Decimal = "0.001"

// Instrument converts the pair to the engine's form, without id and time.
func (p *PairConfig) Instrument() (*engine.Instrument, error) {
	base, quote, _ := strings.Cut(p.Code, "_")
	ins := &engine.Instrument{
		Code: p.Code, Base: base, Quote: quote, DigitsPrice: p.DigitsPrice, DigitsAmount: p.DigitsAmount,
	}
	if p.DigitsPrice < 0 || p.DigitsAmount < 0 || ins.DigitsTotal() > fixed.Scale {
		return ins, nil // validate reports the error
	}
	var err error
	if ins.MakerFee, err = cmp.Or(p.MakerFee, defaultFee).Rate(); err != nil {
		return nil, err
	}
	if ins.TakerFee, err = cmp.Or(p.TakerFee, defaultFee).Rate(); err != nil {
		return nil, err
	}
	if err := p.limits(ins); err != nil {
		return nil, err
	}
	switch p.State {
	case "", engine.Online.String():
	case engine.PostOnlyState.String():
		ins.State = engine.PostOnlyState
	case engine.CancelOnly.String():
		ins.State = engine.CancelOnly
	case engine.Halted.String():
		ins.State = engine.Halted
	default:
		return nil, fmt.Errorf("state %q must be one of online, post_only, cancel_only, halted", p.State)
	}
	return ins, nil
}

// limits sets the limits of the pair's orders.
func (p *PairConfig) limits(ins *engine.Instrument) (err error) {
	ins.HasMinQuote = p.MinQuote.Given()
	if ins.MinQuote, err = p.worth("min_quote", p.MinQuote, ins); err != nil {
		return err
	}
	if ins.MaxQuote, err = p.worth("max_quote", p.MaxQuote, ins); err != nil {
		return err
	}
	if p.MaxQuote.Given() && ins.MaxQuote.IsZero() {
		return fmt.Errorf("max_quote must be above 0; leave it out for no maximum")
	}
	if ins.MaxPrice, err = largest("max_price", p.MaxPrice, ins.DigitsPrice); err != nil {
		return err
	}
	if ins.MaxAmount, err = largest("max_amount", p.MaxAmount, ins.DigitsAmount); err != nil {
		return err
	}
	if ins.BandUp, err = band("price_band_up", p.BandUp, engine.RateOne, engine.MaxBandUp); err != nil {
		return err
	}
	ins.BandDown, err = band("price_band_down", p.BandDown, 1, engine.RateOne)
	return err
}

// worth returns a limit of price x amount in product units; the empty text is 0.
func (p *PairConfig) worth(key string, d setting.Decimal, ins *engine.Instrument) (fixed.U128, error) {
	q, r := d.Value().Abs().DivMod64(fixed.Pow10[fixed.Scale-ins.DigitsTotal()])
	if r != 0 {
		return q, fmt.Errorf("%s %s has more than %d fractional digits", key, d, ins.DigitsTotal())
	}
	return q, nil
}

// largest returns a largest price in ticks or a largest amount in lots; the empty text is 0.
func largest(key string, d setting.Decimal, digits int) (int64, error) {
	v, exact, fits := fixed.Units(d.Value(), digits)
	if d.Given() && (!exact || !fits || v == 0) {
		return 0, fmt.Errorf("%s %q must be above 0 and at most %s, with at most %d fractional digits; leave it out "+
			"for the default", key, string(d), fixed.AppendI64(nil, math.MaxInt64, digits), digits)
	}
	return v, nil
}

// band returns a factor of the last trade, 10^-8; the empty text is 0.
func band(key string, d setting.Decimal, low, high int64) (uint64, error) {
	v, exact, fits := fixed.Units(d.Value(), setting.RateDigits)
	if d.Given() && (!exact || !fits || v < low || v > high) {
		lowest := fixed.AppendShortest(nil, fixed.FromU64(uint64(low)).ToI128(), setting.RateDigits)
		return 0, fmt.Errorf("%s %q must be from %s to %d with at most %d fractional digits",
			key, string(d), lowest, high/setting.RateOne, setting.RateDigits)
	}
	return uint64(v), nil
}

// digits returns the fractional digits of the currency.
func (a *AssetConfig) digits() int {
	if a.Digits == nil {
		return engine.DefaultDigits
	}
	return *a.Digits
}

// asset returns the currency in the engine's form.
func (a *AssetConfig) asset() *engine.Asset {
	return &engine.Asset{
		Symbol: a.Symbol, Name: cmp.Or(a.Name, a.Symbol), Digits: a.digits(), Fiat: a.Fiat,
		UnifiedCryptoassetID: a.UnifiedID, HasUnifiedID: a.UnifiedID != 0,
		CanWithdraw: !a.WithdrawOff, CanDeposit: !a.DepositOff,
		MinWithdraw: a.MinWithdraw.Value(), HasMinWithdraw: a.MinWithdraw.Given(),
		MaxWithdraw: a.MaxWithdraw.Value(), HasMaxWithdraw: a.MaxWithdraw.Given(),
		MakerFee: a.MakerFee.Value(), HasMakerFee: a.MakerFee.Given(),
		TakerFee: a.TakerFee.Value(), HasTakerFee: a.TakerFee.Given(),
	}
}

// builtinAssets returns nine cryptocurrencies and two fiat currencies.
func builtinAssets() []AssetConfig {
	a := func(symbol, name string, id int64, adapter string, minWithdraw, maxWithdraw,
		withdrawMin setting.Decimal,
	) AssetConfig {
		return AssetConfig{
			Symbol: symbol, Name: name, UnifiedID: id, Adapter: adapter,
			MinWithdraw: minWithdraw, MaxWithdraw: maxWithdraw, MakerFee: defaultFee, TakerFee: defaultFee,
			RefillRate: "0", RefillMin: "0", WithdrawRate: "0", WithdrawMin: withdrawMin,
		}
	}
	eur := a("EUR", "Euro", 2790, "sepa", "10", "100000", "1")
	eur.Fiat, eur.WithdrawRate = true, "0.001"
	usd := a("USD", "US Dollar", 2781, "swift", "50", "250000", "15")
	usd.Fiat, usd.WithdrawRate = true, "0.002"
	return []AssetConfig{
		a("BTC", "Bitcoin", 1, "bitcoin", "0.0005", "50", "0.0002"),
		a("ETH", "Ethereum", 1027, "ethereum", "0.005", "500", "0.0012"),
		a("USDT", "Tether", 825, "tron", "5", "1000000", "1"),
		a("BNB", "BNB", 1839, "bsc", "0.01", "2000", "0.0005"),
		a("SOL", "Solana", 5426, "solana", "0.05", "20000", "0.008"),
		a("XRP", "XRP", 52, "ripple", "10", "1000000", "0.2"),
		a("ADA", "Cardano", 2010, "cardano", "5", "1000000", "0.8"),
		a("DOGE", "Dogecoin", 74, "dogecoin", "20", "5000000", "4"),
		a("LTC", "Litecoin", 2, "litecoin", "0.01", "5000", "0.001"),
		eur, usd,
	}
}

// builtinPairs returns twelve pairs. The busiest one trades about thirty times as much as the quietest.
func builtinPairs() []PairConfig {
	p := func(
		code string, digitsPrice, digitsAmount int, minQuote, maxPrice, maxAmount, reference setting.Decimal,
		weight int,
	) PairConfig {
		return PairConfig{
			Code: code, DigitsPrice: digitsPrice, DigitsAmount: digitsAmount, MinQuote: minQuote,
			MaxQuote: "1000000000", MaxPrice: maxPrice, MaxAmount: maxAmount, BandUp: "10", BandDown: "0.1",
			MakerFee: defaultFee, TakerFee: defaultFee, Reference: reference, Weight: weight,
		}
	}
	return []PairConfig{
		p("BTC_USDT", 2, 5, "5", "1000000", "9000", "65000", 100),
		p("ETH_USDT", 2, 4, "5", "1000000", "9000", "3400", 70),
		p("SOL_USDT", 2, 3, "5", "100000", "90000", "150", 40),
		p("BNB_USDT", 2, 3, "5", "100000", "90000", "580", 25),
		p("XRP_USDT", 4, 1, "5", "10000", "9000000", "0.52", 25),
		p("DOGE_USDT", 5, 0, "5", "1000", "90000000", "0.12", 18),
		p("ADA_USDT", 4, 1, "5", "10000", "9000000", "0.45", 12),
		p("LTC_USDT", 2, 3, "5", "100000", "90000", "82", 8),
		p("ETH_BTC", 5, 3, "0.0001", "1000", "100000", "0.0523", 10),
		p("SOL_BTC", 6, 2, "0.0001", "1000", "100000", "0.002308", 3),
		p("BTC_EUR", 2, 5, "5", "1000000", "9000", "60000", 9),
		p("ETH_EUR", 2, 4, "5", "1000000", "9000", "3140", 5),
	}
}
