package marketdata

import "sync/atomic"

// dirPages is the size of a directory in pages. A publish copies one directory and the list
// above it per side: with 32 pages 256 bytes each for books of up to 16,000 levels, where one
// flat list of 1,000 pages would cost 8 KB a publish.
const dirPages = 32

// directory is a list of pages, best first, copied at most once per generation.
type directory struct {
	gen   uint64
	n     int
	pages [dirPages]*Page
	text  [pageTexts]atomic.Pointer[dirText] // write-once, of full directories that were read
}

// Side is one side of a published book: levels in pages, pages in directories. Frozen.
type Side struct {
	dirs   []*directory
	levels int
}

// Len returns the number of levels.
func (s *Side) Len() int { return s.levels }

// Best returns the first level; false when the side is empty.
func (s *Side) Best() (Level, bool) {
	if s.levels == 0 {
		return Level{}, false
	}
	return s.dirs[0].pages[0].levels[0], true
}

// Pages yields the pages, best first, until yield returns false.
func (s *Side) Pages(yield func(*Page) bool) {
	for _, d := range s.dirs {
		for _, p := range d.pages[:d.n] {
			if !yield(p) {
				return
			}
		}
	}
}

// All yields the levels, best first, until yield returns false.
func (s *Side) All(yield func(Level) bool) {
	for _, d := range s.dirs {
		for _, p := range d.pages[:d.n] {
			for _, l := range p.levels[:p.n] {
				if !yield(l) {
					return
				}
			}
		}
	}
}
