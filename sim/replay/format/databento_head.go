package format

import (
	"fmt"
	"slices"

	"tickhive/sim/replay/format/input"
)

// databentoColumns lists the columns of Databento's CSV that are read, by the names of its headers.
var databentoColumns = [...]string{
	"ts_event", "publisher_id", "instrument_id", "action", "side", "price", "size", "flags", // always there
	"ts_recv", "symbol", "order_id",
}

// databentoLevel lists the columns of a level, without its number.
var databentoLevel = [...]string{"bid_px_%02d", "ask_px_%02d", "bid_sz_%02d", "ask_sz_%02d"}

// maxDatabentoLevels is the number of levels a side of mbp-10.
const maxDatabentoLevels = 10

// maxDatabentoColumns bounds the columns of a row: mbp-10 has 74.
const maxDatabentoColumns = 96

// Indexes in databentoColumns.
const (
	dbEvent = iota
	dbPublisher
	dbInstrument
	dbAction
	dbSide
	dbPrice
	dbSize
	dbFlags
	dbReceived
	dbSymbol
	dbOrder
	dbColumns
)

// remedyDatabento is the remedy for a file with another layout.
const remedyDatabento = "fetch the schema mbo, mbp-1, mbp-10 or tbbo; trades and ohlcv are files of --format trades"

// databentoHead holds the columns of a file.
type databentoHead struct {
	where  [dbColumns]int                               // index of each column, -1 without it
	levels [maxDatabentoLevels][len(databentoLevel)]int // indexes of the columns of each level
	depth  int                                          // number of levels a side
	width  int                                          // number of columns
}

// find finds the columns of a header. It returns false for one of another layout.
func (h *databentoHead) find(cells []input.Cell) bool {
	index := func(name string) int {
		return slices.IndexFunc(cells, func(c input.Cell) bool { return string(c.Text) == name })
	}
	for i, name := range databentoColumns {
		h.where[i] = index(name)
	}
	for h.depth = 0; h.depth < maxDatabentoLevels; h.depth++ {
		for i, name := range databentoLevel {
			h.levels[h.depth][i] = index(fmt.Sprintf(name, h.depth))
		}
		if slices.Contains(h.levels[h.depth][:], -1) {
			break
		}
	}
	return !slices.Contains(h.where[:dbReceived], -1) && (h.where[dbOrder] >= 0 || h.depth > 0)
}

// isDatabento reports whether a line is the header of a file that this reader takes, or refuses by its schema.
func isDatabento(line []byte) bool {
	var cells [maxDatabentoColumns]input.Cell
	n := input.Columns(line, ',', cells[:])
	return n <= maxDatabentoColumns && new(databentoHead).find(cells[:n])
}
