package format

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// formats maps each name of a format (docs/contract/recordings.md) to the function that makes its
// reader.
var formats = map[string]func(files []string) (Reader, error){
	"lobster": newLobster, "bitstamp": newBitstamp, "kraken": newKraken, "binance": newBinance, "tardis": newTardis,
	"trades": newTrades, "databento": newDatabento,
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
	switch t := r.(type) {
	case *trades:
		t.pair = pair
	case *databento:
		t.pair = pair
	}
}

// UseExchangeTime makes r take the times of the exchange instead of those of receipt. It must be called before Learn.
func UseExchangeTime(r Reader) error {
	switch t := r.(type) {
	case *binance:
		t.exchange = true
	case *tardis:
		t.time = tardisAt
	default:
		return errors.New("replay: the exchange's time is an option of binance and tardis")
	}
	return nil
}

// Learn reads the recording once and returns the survey. It returns an error for a recording that cannot be
// replayed: the first maxProblems problems of lines, and their number.
func Learn(r Reader) (*Survey, error) {
	defer r.Close()
	s := NewSurvey()
	if err := r.Open(s); err != nil {
		return nil, err
	}
	var rec Record
	var bad problems
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) || err != nil && !bad.take(err) {
			if err := bad.err(); err != nil {
				return nil, err
			}
			return s, nil
		}
	}
}

// Problems returns what keeps files from being replayed: err, which Learn returned for all of them, the file that looks
// like another format, and the problems of each file behind the one at which Learn ended. Only files of the trades
// format can be read by themselves.
func Problems(name string, files []string, pair string, err error) error {
	err = foreignFile(name, files, pair, err)
	if name != "trades" || len(files) < 2 {
		return err
	}
	all := []error{err}
	for _, f := range files {
		r, e := New(name, []string{f})
		if e != nil {
			return err
		}
		Select(r, pair)
		_, e = Learn(r)
		if e == nil || errors.Is(e, os.ErrNotExist) {
			continue
		}
		if first, _, _ := strings.Cut(e.Error(), "\n"); !strings.Contains(err.Error(), first) {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}
