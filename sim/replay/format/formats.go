package format

import (
	"errors"
	"io"
	"maps"
	"slices"
)

// formats are the recorded formats by name (docs/contract/configuration.md#replay).
var formats = map[string]func(files []string) (Reader, error){
	"lobster": newLobster, "bitstamp": newBitstamp, "kraken": newKraken, "binance": newBinance, "trades": newTrades,
}

// Names returns the names of the formats, sorted.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// New returns the reader of a recording, nil for a name that no format has. It opens no file.
func New(name string, files []string) (Reader, error) {
	if f, ok := formats[name]; ok {
		return f(files)
	}
	return nil, nil
}

// Learn reads the recording once. It refuses what cannot be replayed.
func Learn(r Reader) (*Survey, error) {
	defer r.Close()
	s := NewSurvey()
	if err := r.Open(s); err != nil {
		return nil, err
	}
	var rec Record
	for {
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return nil, err
		}
	}
}
