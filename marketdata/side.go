package marketdata

import "sync/atomic"

// dirPages is the largest number of pages in a directory. A publish copies one directory and the list of
// directories per side: with 32 pages that is 256 bytes each for a book of up to 16,000 levels. One flat list
// of 1,000 pages would cost a copy of 8 KB.
const dirPages = 32

// directory is a list of pages, best first. A generation copies it at most once.
type directory struct {
	gen   uint64
	n     int
	pages [dirPages]*Page
	text  [pageTexts]atomic.Pointer[dirText] // set once, when a reader reads a full directory
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
