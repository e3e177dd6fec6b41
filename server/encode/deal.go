package encode

import (
	"crypto/sha1"
	"strconv"

	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// AppendDeal appends the members of the public deal of docs/contract/api.md without the braces, so that callers
// can add members. isUserBuyer is null unless viewer is the buyer or the seller.
func AppendDeal(b []byte, in *engine.Instrument, id engine.TradeID, t *marketdata.Trade,
	viewer *engine.AccountID,
) []byte {
	var name [48]byte // a pair code has at most 25 bytes, a trade id 20
	text := strconv.AppendUint(append(append(name[:0], in.Code...), ':'), uint64(id), 10)
	b = AppendDealUUID(append(b, `"id":"`...), text)
	b = AppendISO(append(b, `","dealDateUtc":"`...), t.TimeNs, 7)
	b = append(append(b, `","currencyPairCode":"`...), in.Code...)
	b = fixed.AppendI64(append(b, `","volume":`...), t.Amount, in.DigitsAmount)
	b = fixed.AppendI64(append(b, `,"price":`...), t.Price, in.DigitsPrice)
	b = strconv.AppendBool(append(b, `,"isBuy":`...), t.TakerSide == engine.Buy)
	b = append(b, `,"isUserBuyer":`...)
	switch {
	case viewer == nil:
		return append(b, "null"...)
	case *viewer == t.Buyer:
		return append(b, "true"...)
	case *viewer == t.Seller:
		return append(b, "false"...)
	}
	return append(b, "null"...)
}

// AppendDealUUID appends the UUID v5 of name as text. It does not allocate for names up to 64 bytes.
func AppendDealUUID(dst, name []byte) []byte {
	var buf [16 + 64]byte
	text := append(append(buf[:0], dealNamespace[:]...), name...)
	sum := sha1.Sum(text)
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, HexDigits[b>>4], HexDigits[b&15])
	}
	return dst
}

// dealNamespace is the UUID namespace of deals and commissions
// (docs/contract/market-data.md#deals).
var dealNamespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))
