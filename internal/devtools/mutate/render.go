package main

import (
	"cmp"
	"slices"
	"strings"
)

// A span is a range of bytes of a file.
type span struct{ lo, hi int }

// An edit replaces a span. It has the numbers of the mutants that it puts in.
type edit struct {
	span
	ids   []int
	parts []span // given to write; none means the whole span
	write func(inner []string) string
}

// render returns the text of the file with every edit that has a sound mutant.
func (s *source) render(mutants []*mutant) string {
	var edits []edit
	for _, e := range s.edits {
		if !slices.ContainsFunc(e.ids, func(id int) bool { return mutants[id-1].broken }) {
			edits = append(edits, e)
		}
	}
	// The outer one of two comes first: a wider span, or the one that was found first.
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(b.hi, a.hi))
	})
	return s.within(span{0, len(s.text)}, edits)
}

// within renders a span, whose edits are sorted. Spans are nested or apart.
func (s *source) within(in span, edits []edit) string {
	var b strings.Builder
	at := in.lo
	for i := 0; i < len(edits); {
		e := edits[i]
		end := i + 1
		for end < len(edits) && edits[end].lo < e.hi {
			end++
		}
		inner := edits[i+1 : end]
		b.Write(s.text[at:e.lo])
		if e.parts == nil {
			b.WriteString(e.write([]string{s.within(e.span, inner)}))
		} else {
			var texts []string
			for _, part := range e.parts {
				texts = append(texts, s.within(part, inside(part, inner)))
			}
			b.WriteString(e.write(texts))
		}
		at, i = e.hi, end
	}
	b.Write(s.text[at:in.hi])
	return b.String()
}

func inside(in span, edits []edit) (out []edit) {
	for _, e := range edits {
		if e.lo >= in.lo && e.hi <= in.hi {
			out = append(out, e)
		}
	}
	return out
}
