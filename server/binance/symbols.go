package binance

import (
	"tickhive/engine"
	"tickhive/marketdata"
)

// symbols translates between pairs and symbols. A symbol is the base and the quote currency without a separator.
// Of two pairs with the same symbol the older one has it; the younger one keeps its pair code. Immutable.
type symbols struct {
	version uint64
	pairs   int
	names   []string // by pair id
	ids     map[string]engine.PairID
}

// symbolsOf returns the symbols of root. It makes them again when a pair was added.
func (f *Facade) symbolsOf(root *marketdata.Root) *symbols {
	if s := f.symbols.Load(); s != nil && s.version == root.PairsVersion && s.pairs == root.Len() {
		return s
	}
	s := &symbols{
		version: root.PairsVersion, pairs: root.Len(), names: make([]string, root.Len()),
		ids: make(map[string]engine.PairID, root.Len()),
	}
	for id := range engine.PairID(root.Len()) {
		v := root.View(id)
		if v == nil {
			continue
		}
		name := v.Instrument.Base + v.Instrument.Quote
		if _, taken := s.ids[name]; taken {
			name = v.Instrument.Code
		}
		s.names[id], s.ids[name] = name, id
	}
	f.symbols.Store(s)
	return s
}

// view returns the view of a symbol, nil for an unknown one.
func (s *symbols) view(root *marketdata.Root, symbol string) *marketdata.View {
	id, ok := s.ids[symbol]
	if !ok {
		return nil
	}
	return root.View(id)
}

// of returns the symbol of a pair.
func (s *symbols) of(in *engine.Instrument) string { return s.names[in.ID] }
