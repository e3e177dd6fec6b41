package objects

import (
	"crypto/sha1"
	"strconv"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// Canceled returns the body of a mass cancel.
func Canceled(n int) []byte {
	var w json.Writer
	w.Object()
	w.Name("canceled").Int(int64(n))
	w.EndObject()
	return w.Bytes()
}

// FeeAsset returns the currency in which a side pays its fee, which is the one that it receives, and its digits.
func FeeAsset(in *engine.Instrument, side engine.Side) (currency string, digits int) {
	if side == engine.Buy {
		return in.Base, in.BaseDigits
	}
	return in.Quote, in.QuoteDigits
}

// WriteFee writes the members fee and feeCurrencyCode of an order or a fill of a side. A fee is at most what the side
// has received, which is below 2^127 units; null if it is not known.
func WriteFee(w *json.Writer, in *engine.Instrument, side engine.Side, fee fixed.U128, known bool) {
	currency, digits := FeeAsset(in, side)
	w.Name("fee").ShortestOrNull(fee.ToI128(), digits, known)
	w.Name("feeCurrencyCode").Word(currency)
}

// WriteTicker writes the ticker object of docs/contract/api.md; streams send it too.
func WriteTicker(w *json.Writer, v *marketdata.View) {
	t, in := &v.Ticker, v.Instrument
	changed := t.ChangedSec
	if changed == 0 { // no event has changed the figures since the pair was added
		changed = fixed.FloorDiv(in.CreatedNs, 1_000_000_000)
	}
	w.Object()
	w.Name("timestamp").Int(changed)
	w.Name("currencyPairCode").Word(in.Code)
	w.Name("price").Units(t.Last, in.DigitsPrice)
	w.Name("price24hAgo").Units(t.Ago24h, in.DigitsPrice)
	w.Name("priceChangePercentage24h").Signed(fixed.PercentChangeHalfEven(t.Last, t.Ago24h), fixed.QuotientDigits)
	w.Name("volume24h").Sum(t.Volume, in.DigitsAmount)
	w.Name("bidPrice").Units(t.Bid, in.DigitsPrice)
	w.Name("askPrice").Units(t.Ask, in.DigitsPrice)
	w.EndObject()
}

// WriteDeal writes the members of the public deal of docs/contract/api.md without the braces, so that callers can add
// members. isUserBuyer is null unless viewer is the buyer or the seller.
func WriteDeal(w *json.Writer, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade,
	viewer *engine.AccountID,
) {
	var name [48]byte // a pair code has at most 25 bytes, a trade id 20
	w.Name("id").UUID(nameID(strconv.AppendUint(append(append(name[:0], in.Code...), ':'), uint64(id), 10)))
	w.Name("dealDateUtc").ISO(t.TimeNs, 7)
	w.Name("currencyPairCode").Word(in.Code)
	w.Name("volume").Units(t.Amount, in.DigitsAmount)
	w.Name("price").Units(t.Price, in.DigitsPrice)
	w.Name("isBuy").Bool(t.TakerSide == engine.Buy)
	party := viewer != nil && (*viewer == t.Buyer || *viewer == t.Seller)
	w.Name("isUserBuyer").BoolOrNull(party && *viewer == t.Buyer, party)
}

// nameID returns the UUID v5 of a name. It does not allocate for names up to 64 bytes.
func nameID(name []byte) (id [16]byte) {
	var buf [16 + 64]byte
	sum := sha1.Sum(append(append(buf[:0], namespace[:]...), name...))
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// namespace is the UUID namespace of deals and commissions (docs/contract/market-data.md#deals).
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))

// WriteCandle writes the candle object of docs/contract/api.md; streams send it too.
func WriteCandle(w *json.Writer, in *engine.Instrument, k *marketdata.Candle) {
	w.Object()
	w.Name("date").Second(k.Start)
	w.Name("open").Units(k.Open, in.DigitsPrice)
	w.Name("max").Units(k.High, in.DigitsPrice)
	w.Name("min").Units(k.Low, in.DigitsPrice)
	w.Name("close").Units(k.Close, in.DigitsPrice)
	w.Name("volume").Sum(k.QuoteVolume, in.DigitsTotal())
	w.Name("volumeBase").Sum(k.Volume, in.DigitsAmount)
	w.EndObject()
}

// The commission types of docs/contract/market-data.md#currencies-pairs-and-commissions.
const (
	CommissionRefill     = 1
	CommissionWithdrawal = 2
	CommissionBuy        = 3
	CommissionSell       = 4
)

// Commission is one record of /api/currencies/commissions.
type Commission struct {
	Type      int
	Currency  string // empty for trades
	Pair      string // empty for deposits and withdrawals
	Adapter   string
	Percent   uint32     // 10^-8
	Minimum   fixed.I128 // 10^-18 of MinimumIn
	MinimumIn string     // empty for trades
	HashCode  string
}

// WriteCommission writes one record. It applies discount (10^-8) to the rate.
func WriteCommission(w *json.Writer, c *Commission, discount uint32) {
	kind, names := strconv.Itoa(c.Type), commissionNames[c.Type]
	w.Object()
	w.Name("commissionId").UUID(nameID([]byte(c.HashCode)))
	w.Name("currencyCode").TextOrNull(c.Currency)
	w.Name("currencyPairCode").TextOrNull(c.Pair)
	w.Name("currencyAdapterCode").TextOrNull(c.Adapter)
	w.Name("percent").Shortest(Discounted(c.Percent, discount), 2*engine.RateScale)
	w.Name("minimum").Shortest(c.Minimum, fixed.Scale)
	w.Name("commissionCurrencyCode").TextOrNull(c.MinimumIn)
	w.Name("commissionTypeCode").Word(kind)
	w.Name("commissionType").Object()
	w.Name("code").Word(kind)
	w.Name("value").Word(names[0])
	w.Name("valueKey").Word(names[1])
	w.EndObject()
	w.Name("hashCode").Text(c.HashCode)
	w.EndObject()
}

// commissionNames holds, for each type, the display name and the key.
var commissionNames = [...][2]string{
	CommissionRefill:     {"Пополнение", "Refill"},
	CommissionWithdrawal: {"Вывод", "Withdrawal"},
	CommissionBuy:        {"Сделка покупка", "Trade"},
	CommissionSell:       {"Сделка продажа", "Trade"},
}

// Discounted returns rate x (1 - discount), both in 10^-8, exactly and in 10^-16.
func Discounted(rate, discount uint32) fixed.I128 {
	return fixed.Mul64(uint64(rate), uint64(engine.RateOne-discount)).ToI128()
}
