package stream

import (
	"hash/crc32"
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// checksumLevels is the number of levels of each side in the checksum
// (docs/contract/streams.md#checksum).
const checksumLevels = 10

// appendHead appends the start of a message: type, id (if any), channel, pair.
func appendHead(dst []byte, kind, id, channel, pair string) []byte {
	dst = append(append(append(dst, `{"type":"`...), kind...), '"')
	if id != "" {
		dst = append(append(dst, `,"id":`...), id...)
	}
	if channel != "" {
		dst = append(append(append(dst, `,"channel":"`...), channel...), '"')
	}
	if pair != "" {
		dst = append(append(append(dst, `,"currencyPairCode":"`...), pair...), '"')
	}
	return dst
}

// errorFrame returns an error message; the socket stays open.
func errorFrame(req request, pair string, code refuse.Code, message string) frame {
	dst := appendIDOrNull([]byte(`{"type":"error","id":`), req.id)
	dst = encode.AppendNullable(append(dst, `,"channel":`...), req.channel)
	dst = encode.AppendNullable(append(dst, `,"currencyPairCode":`...), pair)
	dst = encode.AppendString(append(dst, `,"code":`...), string(code))
	dst = encode.AppendString(append(dst, `,"message":`...), message)
	return newFrame(opText, append(dst, '}'))
}

func appendSeqTime(dst []byte, seq uint64, timeMs int64) []byte {
	dst = strconv.AppendUint(append(dst, `,"seq":`...), seq, 10)
	return strconv.AppendInt(append(dst, `,"time":`...), timeMs, 10)
}

// appendBookSnapshot appends the snapshot message of a book stream. Its seq is the stream's
// seq, because that is the prevSeq of the next update. The stream's seq stays behind the
// view's seq while only levels outside the depth change.
func appendBookSnapshot(dst []byte, s *stream, epoch, reason string, timeMs int64) []byte {
	v, depth := s.view, s.key.depth
	dst = appendHead(dst, "snapshot", "", "book", v.Instrument.Code)
	dst = append(append(append(dst, `,"epoch":"`...), epoch...), '"')
	dst = appendSeqTime(dst, s.seq, timeMs)
	dst = append(append(append(dst, `,"reason":"`...), reason...), '"')
	dst = append(dst, `,"bids":[`...)
	dst = appendTopLevels(dst, &v.Bids, v.Instrument, depth)
	dst = append(dst, `],"asks":[`...)
	dst = appendTopLevels(dst, &v.Asks, v.Instrument, depth)
	dst = append(dst, ']')
	return appendChecksum(dst, v)
}

func appendTopLevels(dst []byte, s *marketdata.Side, in *engine.Instrument, depth int) []byte {
	n := 0
	s.All(func(l marketdata.Level) bool {
		if depth > 0 && n == depth {
			return false
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendLevel(dst, l, in)
		n++
		return true
	})
	return dst
}

func appendLevel(dst []byte, l marketdata.Level, in *engine.Instrument) []byte {
	dst = fixed.AppendI64(append(dst, '['), l.Price, in.DigitsPrice)
	dst = fixed.AppendI64(append(dst, ','), l.Amount, in.DigitsAmount)
	return append(dst, ']')
}

// appendBookUpdate appends the update message of a book stream from prevSeq to seq.
func appendBookUpdate(
	dst []byte, v *marketdata.View, prevSeq, seq uint64, bids, asks []marketdata.Level, timeMs int64,
) []byte {
	dst = appendHead(dst, "update", "", "book", v.Instrument.Code)
	dst = strconv.AppendUint(append(dst, `,"prevSeq":`...), prevSeq, 10)
	dst = appendSeqTime(dst, seq, timeMs)
	dst = append(dst, `,"bids":[`...)
	dst = appendChanged(dst, bids, v.Instrument)
	dst = append(dst, `],"asks":[`...)
	dst = appendChanged(dst, asks, v.Instrument)
	dst = append(dst, ']')
	return appendChecksum(dst, v)
}

func appendChanged(dst []byte, levels []marketdata.Level, in *engine.Instrument) []byte {
	for i, l := range levels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendLevel(dst, l, in)
	}
	return dst
}

// appendChecksum appends the checksum, the last member of a book message.
func appendChecksum(dst []byte, v *marketdata.View) []byte {
	dst = strconv.AppendUint(append(dst, `,"checksum":`...), uint64(bookChecksum(v)), 10)
	return append(dst, '}')
}

// bookChecksum returns the CRC-32 (IEEE) of the top 10 bids, `|` and the top 10 asks. Each level
// is price:amount as printed, joined by commas (docs/contract/streams.md#checksum).
func bookChecksum(v *marketdata.View) uint32 {
	var buf [1024]byte
	text := appendChecksumSide(buf[:0], &v.Bids, v.Instrument)
	text = append(text, '|')
	text = appendChecksumSide(text, &v.Asks, v.Instrument)
	return crc32.ChecksumIEEE(text)
}

func appendChecksumSide(dst []byte, s *marketdata.Side, in *engine.Instrument) []byte {
	n := 0
	s.All(func(l marketdata.Level) bool {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = fixed.AppendI64(dst, l.Price, in.DigitsPrice)
		dst = fixed.AppendI64(append(dst, ':'), l.Amount, in.DigitsAmount)
		n++
		return n < checksumLevels
	})
	return dst
}

// appendHeartbeat appends a heartbeat with the seq of a silent stream.
func appendHeartbeat(dst []byte, s *stream, pair string, timeMs int64) []byte {
	dst = append(append(append(dst, `{"type":"heartbeat","channel":"`...), s.key.name()...), '"')
	dst = encode.AppendNullable(append(dst, `,"currencyPairCode":`...), pair)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), s.seq, 10)
	dst = append(dst, `,"tradeId":`...)
	if s.key.channel == chTrades {
		dst = strconv.AppendUint(dst, uint64(s.trade), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `,"time":`...), timeMs, 10)
	return append(dst, '}')
}

// appendTrades appends a trades snapshot or update: from..to, oldest first, without a gap.
func appendTrades(dst []byte, kind string, v *marketdata.View, from, to engine.TradeID, timeMs int64) []byte {
	dst = appendHead(dst, kind, "", "trades", v.Instrument.Code)
	dst = appendSeqTime(dst, uint64(v.TradesSeq), timeMs)
	dst = append(dst, `,"trades":[`...)
	for id := from; id <= to && id != 0; id++ {
		if id > from {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(append(dst, `{"tradeId":`...), uint64(id), 10)
		dst = append(appendStreamDeal(append(dst, ','), v, id), '}')
	}
	return append(dst, `]}`...)
}

// appendTicker appends a snapshot or update of the ticker channel: the document of /api/tickers, and beside it those
// figures of the same 24 h that the document lacks.
func appendTicker(dst []byte, kind string, v *marketdata.View, timeMs int64) []byte {
	dst = appendHead(dst, kind, "", "ticker", v.Instrument.Code)
	dst = appendSeqTime(dst, uint64(v.TickerSeq), timeMs)
	dst = encode.AppendTicker(append(dst, `,"ticker":`...), v)
	t, in := &v.Ticker, v.Instrument
	dst = fixed.AppendI64(append(dst, `,"high24h":`...), t.High, in.DigitsPrice)
	dst = fixed.AppendI64(append(dst, `,"low24h":`...), t.Low, in.DigitsPrice)
	dst = fixed.AppendU128(append(dst, `,"quoteVolume24h":`...), t.QuoteVolume, in.DigitsTotal())
	return append(dst, '}')
}

// appendCandle appends a snapshot or update of a candles channel; no candle is null.
func appendCandle(
	dst []byte, kind string, s *stream, v *marketdata.View, c marketdata.Candle, closed bool, timeMs int64,
) []byte {
	dst = appendHead(dst, kind, "", s.key.name(), v.Instrument.Code)
	dst = appendSeqTime(dst, uint64(v.TradesSeq), timeMs)
	dst = append(dst, `,"candle":`...)
	if c.Trades == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = encode.AppendCandle(dst, v.Instrument, &c)
	}
	dst = strconv.AppendBool(append(dst, `,"closed":`...), closed)
	return append(dst, '}')
}

func appendStreamDeal(dst []byte, v *marketdata.View, id engine.TradeID) []byte {
	t := v.Trades.At(id)
	return encode.AppendDeal(dst, v.Instrument, id, &t, nil)
}
