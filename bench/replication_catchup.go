package bench

import (
	"context"
	"fmt"
	"time"

	"tickhive/bench/journal"
)

// catchUpWithin bounds one reading of the stream.
const catchUpWithin = 2 * time.Minute

// replicationCatchUp measures D4: the CPU of following the whole stream, and of executing the same records from memory
// in the same process with the same publications. empty is the CPU of a replica's start on an empty stream.
func replicationCatchUp(r *Run, s *servers, empty time.Duration) error {
	r.say("catch-up")
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Rounds+1)*catchUpWithin)
	defer cancel()
	log, messages, end, err := s.log(ctx)
	if err != nil {
		return err
	}
	defer end()
	records, err := journal.Read(ctx, log, messages)
	if err != nil {
		return err
	}
	with := fmt.Sprintf("%d commands in %d messages, core and feed, a publication a message", records.Commands,
		len(records.Messages))
	inside := r.S.Cost("catch-up CPU", "ns/command", with).Against("records from memory").Aim("D4", 1.3)
	whole := r.S.Cost("catch-up CPU of a replica's process", "ns/command", fmt.Sprintf("%d commands, with the "+
		"accounts and streams of the program, without its start on an empty stream", records.Commands)).
		Against("records from memory")
	for range r.Rounds {
		memory, err := records.FromMemory()
		if err != nil {
			return err
		}
		followed, err := records.FromStream(ctx)
		if err != nil {
			return err
		}
		process, err := s.replicaCPU()
		if err != nil {
			return err
		}
		inside.Round(followed, memory)
		whole.Round(float64((process-empty).Nanoseconds())/float64(records.Commands), memory)
	}
	return nil
}
