package sample

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// Format is the format of the files, by its name in package format.
const Format = "tardis"

// Pair is the code of the recorded pair.
const Pair = "BTC_USDT"

//go:embed book.csv.zst
var book []byte

//go:embed trades.csv.zst
var trades []byte

// The names of the files.
const (
	bookFile   = "generated_incremental_book_L2_BTCUSDT.csv.zst"
	tradesFile = "generated_trades_BTCUSDT.csv.zst"
)

// Write writes the files into a directory and returns their paths.
func Write(dir string) (paths []string, err error) {
	for _, f := range []struct {
		name string
		text []byte
	}{{bookFile, book}, {tradesFile, trades}} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, f.text, 0o600); err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
