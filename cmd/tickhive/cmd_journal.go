package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/machine/keeper"
	"github.com/tickhive/tickhive/internal/wal"
)

// journalCmd reads a journal offline. Verify and Dump take no lock and change nothing. Skip holds the lock of the
// directory and only appends.
type journalCmd struct {
	Verify journalVerifyCmd `cmd:"" help:"Check every record and print the state hash."`
	Dump   journalDumpCmd   `cmd:"" help:"Print the records as JSON lines."`
	Skip   journalSkipCmd   `cmd:"" help:"Skip a record that a start cannot apply."`
}

// journalVerifyCmd checks every record of a journal.
type journalVerifyCmd struct {
	Dir          string `arg:"" help:"Data directory, or its engine directory."`
	At           uint64 `help:"Stop when the sum of the pairs' seqs reaches this value (seq in /internal/v1/state-hash)."`
	FromSnapshot bool   `help:"Start from the newest snapshot instead of the oldest record."`
	JSON         bool   `name:"json" help:"Print one JSON object."`
	Quiet        bool   `help:"Suppress progress output."`
}

// engineDir returns the engine's directory within a data directory, or dir itself.
func engineDir(dir string) (string, error) {
	for _, d := range []string{filepath.Join(dir, datadir.LogName), filepath.Clean(dir)} {
		info, err := os.Stat(d)
		if err == nil && info.IsDir() {
			return d, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("%w: run this command as the owner of the directory", err)
		}
	}
	return "", fmt.Errorf("%s: no such directory; name a data directory or its engine directory", dir)
}

// verifyCheckEvery is the number of records after which progress is reported.
const verifyCheckEvery = 4096

// errInsideCommand reports that --at is a seq inside a command's events.
var errInsideCommand = errors.New("no command ends at that seq")

// Run replays the log and prints the state hash. It replays from the oldest record if no segment was removed,
// otherwise from a snapshot.
func (c *journalVerifyCmd) Run(p *program) error {
	dir, err := engineDir(c.Dir)
	if err != nil {
		return err
	}
	log := exchange.EngineLog(dir)
	if _, err := datadir.ReadMeta(filepath.Dir(dir)); err != nil {
		return err
	}
	files, err := c.files(p.out)
	if err != nil {
		return err
	}
	skips := machine.Skips{}
	o := machine.Options{Skips: skips}
	from, err := c.from(log, files)
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	r, first, err := c.begin(log, o, from)
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	hashes, err := snapshotHashes(log, machine.Options{}, files, r.Pos)
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	open := func() (*wal.Reader, error) { return wal.OpenReader(log.FS, log.Dir, log.Options, r.Pos+1) }
	if err := exchange.CollectSkips(skips, open); err != nil {
		return exchange.ExplainDamage(err)
	}
	rd, err := open()
	if err != nil {
		return exchange.ExplainDamage(err)
	}
	defer func() { _ = rd.Close() }()
	bar := newProgress(p.err, "verify", "bytes", c.Quiet)
	sum := seqSum(r.Core)
	if c.At != 0 && sum > c.At {
		return fmt.Errorf("--at: seq %d is before the oldest retained state, which is at seq %d "+
			"(set journal.keep to all to retain every segment)", c.At, sum)
	}
	n := 0
	after := func() error {
		if n++; n%verifyCheckEvery == 0 {
			bar.Set(rd.Progress())
		}
		if c.At == 0 {
			return compareHash(log, r, hashes)
		}
		sum = seqSum(r.Core)
		return c.passed(sum)
	}
	if c.At == 0 || sum < c.At {
		err = keeper.Replay(r, rd, 0, after)
	}
	bar.Done()
	if err := c.explain(err, dir, r, sum); err != nil {
		return err
	}
	return c.print(p.out, r, first, rd, skips, files)
}

// explain returns why a replay did not verify the log, nil if it did.
func (c *journalVerifyCmd) explain(err error, dir string, r *machine.State, sum uint64) error {
	switch {
	case errors.Is(err, errInsideCommand):
		return fmt.Errorf("--at: seq %d lies inside the command of record %d, which ends at seq %d: name a seq at "+
			"the end of a command", c.At, r.Pos, sum)
	case err != nil:
		return exchange.ExplainPoison(exchange.ExplainDamage(err), filepath.Dir(dir))
	case c.At != 0 && seqSum(r.Core) != c.At:
		return fmt.Errorf("--at: seq %d is beyond the end of the journal, which is at seq %d", c.At, seqSum(r.Core))
	}
	return nil
}

// passed ends the replay when it has reached the seq of --at.
func (c *journalVerifyCmd) passed(sum uint64) error {
	switch {
	case sum == c.At:
		return keeper.ErrStop
	case sum > c.At:
		return errInsideCommand
	}
	return nil
}

// files checks and prints the files, unless only a part of the log is to be replayed. The error reports damage.
func (c *journalVerifyCmd) files(out io.Writer) ([]wal.Checked, error) {
	if !c.whole() {
		return nil, nil
	}
	files, err := checkFiles(c.Dir)
	if err != nil {
		return nil, err
	}
	return files, c.printDamage(out, files)
}

// whole reports whether the whole log is checked: neither --at nor --from-snapshot is given.
func (c *journalVerifyCmd) whole() bool { return c.At == 0 && !c.FromSnapshot }

// printDamage prints one line a file, or one JSON object if a file is damaged. It returns the damage.
func (c *journalVerifyCmd) printDamage(out io.Writer, files []wal.Checked) error {
	damage := damageOf(files)
	if !c.JSON {
		printFiles(out, files)
		return damage
	}
	if damage == nil {
		return nil
	}
	return errors.Join(damage, json.NewEncoder(out).Encode(map[string]any{"files": fileTexts(files)}))
}

// from returns the journal's position at which the replay begins: 0 for its first record, that of its oldest snapshot
// if that record was removed, or keeper.NoLimit for the newest snapshot.
func (c *journalVerifyCmd) from(log keeper.LogDir, files []wal.Checked) (uint64, error) {
	if c.FromSnapshot {
		return keeper.NoLimit, nil
	}
	rd, err := wal.OpenReader(log.FS, log.Dir, log.Options, 1)
	if errors.Is(err, wal.ErrTruncated) {
		if files == nil { // with --at
			if files, err = checkFiles(c.Dir); err != nil {
				return 0, err
			}
		}
		return oldestSnapshot(files), nil
	}
	if err != nil {
		return 0, err
	}
	return 0, rd.Close()
}

// begin returns the state at which the replay starts: an empty one for 0, otherwise that of the newest snapshot that is
// not behind from.
func (c *journalVerifyCmd) begin(
	log keeper.LogDir, o machine.Options, from uint64,
) (r *machine.State, first uint64, err error) {
	if from == 0 {
		return machine.New(o), 1, nil
	}
	r, _, err = keeper.Load(o, log, from)
	if err != nil {
		return nil, 0, err
	}
	if c.At != 0 && seqSum(r.Core) > c.At {
		// An older snapshot may be before --at.
		if older, _, err := keeper.Load(o, log, r.Pos-1); err == nil && older.Pos > 0 {
			r = older
		}
	}
	return r, r.Pos + 1, nil
}

func (c *journalVerifyCmd) print(
	out io.Writer, r *machine.State, first uint64, rd *wal.Reader, skips machine.Skips, files []wal.Checked,
) error {
	left := slices.Sorted(maps.Keys(skips))
	h := r.Hash()
	if c.JSON {
		said := map[string]any{
			"hash": h.Hash, "seq": h.Market.Seq, "parts": partHashes(&h), "pairs": h.Market.Pairs, "firstRecord": first,
			"lastRecord": r.Pos, "tornTail": rd.TornTail(), "skipped": left,
		}
		if c.whole() {
			said["files"] = fileTexts(files)
		}
		return json.NewEncoder(out).Encode(said)
	}
	for _, p := range h.Market.Pairs {
		fmt.Fprintf(out, "%-24s seq %-12d %s\n", p.Code, p.Seq, p.Hash)
	}
	if v := r.Hive.View(); v.Entries() > 0 {
		fmt.Fprintf(out, "hive entries 1 to %d head %s\n", v.Entries(), v.Head())
	}
	for _, pos := range left {
		fmt.Fprintf(out, "record %d is skipped (journal skip)\n", pos)
	}
	if t := rd.TornTail(); t > 0 {
		fmt.Fprintf(out, "torn tail of %d bytes: the next start cuts it off\n", t)
	}
	if r.Pos < first {
		fmt.Fprintf(out, "no record behind the snapshot of record %d\n", r.Pos)
	} else {
		fmt.Fprintf(out, "records %d to %d verified\n", first, r.Pos)
	}
	fmt.Fprintf(out, "seq %d\n", h.Market.Seq)
	for _, p := range h.Parts() {
		fmt.Fprintf(out, "%-10s %s\n", p.Name, p.Hash)
	}
	_, err := fmt.Fprintf(out, "hash %s\n", h.Hash)
	return err
}

func seqSum(c *engine.Core) (sum uint64) {
	for id := range c.EndPair() {
		sum += uint64(c.LastSeq(id))
	}
	return sum
}

// partHashes returns the hashes of the parts by name.
func partHashes(h *machine.StateHash) map[string]string {
	all := map[string]string{}
	for _, p := range h.Parts() {
		all[p.Name] = p.Hash
	}
	return all
}
