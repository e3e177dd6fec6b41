package format

import (
	"errors"
	"io"
	"maps"
	"slices"
)

// formats maps each name of a format (docs/contract/configuration.md#replay) to the function that makes its
// reader.
var formats = map[string]func(files []string) (Reader, error){
	"lobster": newLobster, "bitstamp": newBitstamp, "kraken": newKraken, "binance": newBinance, "trades": newTrades,
}

// Names returns the names of the formats, sorted.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// New returns the reader of a recording, or nil when name is unknown. It opens no file.
func New(name string, files []string) (Reader, error) {
	if f, ok := formats[name]; ok {
		return f(files)
	}
	return nil, nil
}

// Select makes r take the rows of one pair out of files with several symbols. It must be called before Learn. A reader
// of files that hold one symbol ignores it.
func Select(r Reader, pair string) {
	if t, ok := r.(*trades); ok {
		t.pair = pair
	}
}

// Learn reads the recording once and returns the survey. It returns an error for a recording that cannot be
// replayed.
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
