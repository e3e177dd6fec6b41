package body

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/server/edge"
)

// pairSeq is the last seq that the commands of a batch have in a pair.
type pairSeq struct {
	code string
	seq  engine.Seq
}

// AppendSeqs appends the member seqs of a batch's answer: by pair, the seq that a later read must reflect to show what
// the batch has done. Refused commands have none. only is this seq when the batch concerns one pair, else edge.NoSeq.
func AppendSeqs(dst []byte, answers []entry.Answer) (out []byte, only uint64) {
	var few [4]pairSeq
	all, last := few[:0], -1
	for i := range answers {
		a := &answers[i]
		if a.Seq == 0 || a.Instrument == nil || a.Reason != engine.NotRejected {
			continue
		}
		if last < 0 || all[last].code != a.Instrument.Code {
			last = indexOf(all, a.Instrument.Code)
		}
		if last < 0 {
			last = len(all)
			all = append(all, pairSeq{code: a.Instrument.Code})
		}
		all[last].seq = max(all[last].seq, a.Seq)
	}
	dst, only = append(dst, `,"seqs":{`...), edge.NoSeq
	for i, p := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), p.code...), `":`...)
		dst = strconv.AppendUint(dst, uint64(p.seq), 10)
	}
	if len(all) == 1 {
		only = uint64(all[0].seq)
	}
	return append(dst, '}'), only
}

// indexOf returns the place of a pair, -1 for none. A batch has at most 1,000 commands.
func indexOf(all []pairSeq, code string) int {
	for i := range all {
		if all[i].code == code {
			return i
		}
	}
	return -1
}
