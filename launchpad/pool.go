package launchpad

import (
	"math/big"

	"github.com/tickhive/tickhive/internal/fifo"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// swapOut returns the amount that a pool pays for in (docs/contract/launchpad.md#pools), in units of 10^-18:
// in' = in - ceil(in x feeTier / 10^6), out = floor(reserveOut x in' / (reserveIn + in')).
func swapOut(reserveIn, reserveOut, in Amount) Amount {
	v := in.Big()
	fee := new(big.Int).Mul(v, big.NewInt(FeeTier))
	fee.Add(fee, big.NewInt(999_999))
	fee.Quo(fee, big.NewInt(1_000_000))
	after := v.Sub(v, fee)
	num := new(big.Int).Mul(reserveOut.Big(), after)
	den := after.Add(after, reserveIn.Big())
	out, ok := AmountFromBig(num.Quo(num, den))
	if !ok {
		panic("BUG: launchpad: a swap gives more than the reserve")
	}
	return out
}

// swap makes its checks in the order of the contract's error table: amounts, token, pool, funds, minOut.
func (s *State) swap(cmd *Swap, res *Result) *refuse.Refusal {
	if cmd.AmountIn.IsZero() {
		return amountWrong("amountIn")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return unknownToken()
	}
	if t.Empty() {
		return refuse.New(refuse.Conflict, "", "The pool is empty: add liquidity first.")
	}
	coin := t.Side.Currency()
	payIn, payOut, name := coin.asset(), t.asset(), coin.String()
	reserveIn, reserveOut := t.ReserveQuote, t.ReserveToken
	if cmd.Sell {
		payIn, payOut, name = payOut, payIn, t.Symbol
		reserveIn, reserveOut = reserveOut, reserveIn
	}
	if s.balance(cmd.From, payIn).Less(cmd.AmountIn) {
		return insufficient("amountIn", name)
	}
	out := swapOut(reserveIn, reserveOut, cmd.AmountIn)
	if out.IsZero() {
		return refuse.Param("amountIn", "amountIn is too small: nothing would come out.")
	}
	if out.Less(cmd.MinOut) {
		return refuse.New(refuse.Conflict, "minOut", "The swap gives %s, less than minOut.", out)
	}
	if s.window.Len() >= s.maxMarks {
		return refuse.Later(fullSec, "The 24 h windows hold %d swaps, their limit.", s.maxMarks)
	}
	if rej := s.mayMove(t.No); rej != nil {
		return rej
	}
	res.TxHash = s.nextTxHash()
	s.debit(cmd.From, payIn, cmd.AmountIn)
	s.credit(cmd.From, payOut, out)
	res.Token, res.In, res.Out, res.Sell = s.trade(cmd, out), cmd.AmountIn, out, cmd.Sell
	res.Block = blockAt(s.genesisNs, s.nowNs)
	res.Fact = res.Token.fact()
	return nil
}

// trade changes the pool, the volume and the candles of a swap's token, and returns the token.
func (s *State) trade(cmd *Swap, out Amount) *Token {
	t, quote, tokens := s.edit(cmd.Token), cmd.AmountIn, out
	pooled := &s.totals[t.Side.Currency()].Pooled
	if cmd.Sell {
		quote, tokens = tokens, quote
		t.ReserveToken, t.ReserveQuote = t.ReserveToken.Add(cmd.AmountIn), t.ReserveQuote.Sub(out)
		*pooled = pooled.Sub(out)
	} else {
		t.ReserveToken, t.ReserveQuote = t.ReserveToken.Sub(out), t.ReserveQuote.Add(cmd.AmountIn)
		*pooled = pooled.Add(cmd.AmountIn)
	}
	t.LastTradeSec = floorSec(s.nowNs)
	t.Window = t.Window.Add(quote)
	s.digest += s.window.push(mark{sec: t.LastTradeSec, token: t.No, quote: quote})
	t.derive(&s.opt)
	s.chart(t, quote, tokens)
	s.put(t)
	return t
}

// addLiquidity accepts both amounts of the first liquidity in full. For later liquidity it lowers one amount
// to the pool's ratio, rounded down; the payer keeps the difference.
func (s *State) addLiquidity(cmd *AddLiquidity, res *Result) *refuse.Refusal {
	if cmd.TokenAmount.IsZero() {
		return amountWrong("tokenAmount")
	}
	if cmd.QuoteAmount.IsZero() {
		return amountWrong("quoteAmount")
	}
	t, ok := s.tokens.Get(cmd.Token)
	if !ok {
		return unknownToken()
	}
	tokens, quote := cmd.TokenAmount, cmd.QuoteAmount
	if !t.Empty() {
		tokens, quote = inRatio(t, tokens, quote)
		if tokens.IsZero() || quote.IsZero() {
			return refuse.Param("tokenAmount", "The amounts are too small for the pool's ratio.")
		}
	}
	if s.balance(cmd.From, t.asset()).Less(tokens) {
		return insufficient("tokenAmount", t.Symbol)
	}
	coin := t.Side.Currency()
	if s.balance(cmd.From, coin.asset()).Less(quote) {
		return insufficient("quoteAmount", coin.String())
	}
	if rej := s.mayMove(t.No); rej != nil {
		return rej
	}
	res.TxHash = s.nextTxHash()
	s.debit(cmd.From, t.asset(), tokens)
	s.debit(cmd.From, coin.asset(), quote)
	s.totals[coin].Pooled = s.totals[coin].Pooled.Add(quote)
	t = s.edit(cmd.Token) // as the debit has left it
	t.ReserveToken, t.ReserveQuote = t.ReserveToken.Add(tokens), t.ReserveQuote.Add(quote)
	t.derive(&s.opt)
	s.chart(t, Amount{}, Amount{})
	s.put(t)
	res.Token = t
	return nil
}

// inRatio lowers one of the two amounts so that they have the pool's ratio, rounded down.
func inRatio(t *Token, tokens, quote Amount) (Amount, Amount) {
	wanted := tokens.Big()
	wanted.Mul(wanted, t.ReserveQuote.Big()).Quo(wanted, t.ReserveToken.Big())
	if wanted.Cmp(quote.Big()) <= 0 {
		quote, _ = AmountFromBig(wanted)
		return tokens, quote
	}
	// quote is less than the tokens need, so the result is at most tokens and fits.
	return mulDiv(quote, t.ReserveToken, t.ReserveQuote), quote
}

// WindowSec is the length of the volume window: at second T a swap at t counts while
// T - 86400 < floor(t) <= T (docs/contract/market-data.md#ticker).
const WindowSec = 86400

// mark holds the amount of quote currency that one token traded in one second.
type mark struct {
	sec   int64
	token uint32
	quote Amount
}

// window holds the marks of all tokens that are within the 24 h, oldest first. The length is the same for every
// token, so one first-in, first-out queue serves all.
type window struct{ fifo.Queue[mark] }

// push adds a mark and returns by how much the digest grows.
func (w *window) push(m mark) (digest uint64) {
	if n := w.Len(); n > 0 {
		if last := w.At(n - 1); last.sec == m.sec && last.token == m.token {
			before := last.mix()
			last.quote = last.quote.Add(m.quote)
			return last.mix() - before
		}
	}
	w.Push(m)
	return m.mix()
}

// nextExpiry returns the second at which the oldest mark leaves the window.
func (w *window) nextExpiry() int64 { return w.At(0).sec + WindowSec }

// slideOne removes the oldest mark and lowers its token's window.
func (s *State) slideOne() {
	m := s.window.Pop()
	s.digest -= m.mix()
	t := s.edit(m.token)
	t.Window = t.Window.Sub(m.quote)
	t.derive(&s.opt)
	s.put(t)
}

// cents is an amount in hundredths of a USD, rounded half to even (docs/contract/launchpad.md#pools). Lists
// sort by this rounded figure, so that rows which print the same figure are ordered by address.
type cents = fixed.U128

var maxCents = cents{Hi: 1<<64 - 1, Lo: 1<<64 - 1}

// usdCents returns times x quote in USD. 1 USBI is 1 USD, 1 wNATIVE is NativeUSD.
func (o *Options) usdCents(quote Amount, side Side, times int64) cents {
	if quote.IsZero() {
		return cents{}
	}
	v := quote.Big()
	v.Mul(v, big.NewInt(times))
	unit := pow10(Decimals - 2)
	if side == WNative {
		v.Mul(v, o.NativeUSD.Big())
		unit = new(big.Int).Mul(unit, pow10(Decimals))
	}
	v = quoHalfEven(v, unit)
	if v.BitLen() > 128 {
		return maxCents // above 10^36 USD all figures are equal, so only the order among them is lost
	}
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return cents{Hi: v.Rsh(v, 64).Uint64(), Lo: lo}
}
