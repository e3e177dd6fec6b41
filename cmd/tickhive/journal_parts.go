package main

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tickhive/accounts"
	"tickhive/hive"
	"tickhive/internal/datadir"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/seal"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/launchpad"
)

// emptyParts returns options with empty states of the parts that have their own logs. Records have every decision of
// the settings that they were made with, so the settings do not matter here.
func emptyParts(withAccounts bool) (o machine.Options) {
	o.Ledger, o.Hive = launchpad.New(launchpad.DefaultOptions()), hive.New(hive.DefaultOptions())
	if withAccounts {
		o.Money = accounts.New(accounts.Options{Random: rand.Reader})
	}
	return o
}

// whole reports whether a hash has every part.
func whole(h *machine.StateHash) bool { return len(h.Parts()) == int(machine.Parts) }

// partHashes returns the hashes of the parts by name.
func partHashes(h *machine.StateHash) map[string]string {
	all := map[string]string{}
	for _, p := range h.Parts() {
		all[p.Name] = p.Hash
	}
	return all
}

// otherLogs reads the logs beside the market's in a data directory.
type otherLogs struct {
	dir     string // of the exchange
	meta    *datadir.Meta
	newest  bool      // begin with the newest snapshots, not with the first records
	secrets *seal.Key // opens the accounts'; nil: they are left out

	readers [machine.Parts]*wal.Reader // of the records behind the states; nil: the log is not there
}

// openOthers makes the parts begin with an empty state if their log has its first record, otherwise with the state of
// their oldest snapshot.
func openOthers(dir string, meta *datadir.Meta, o *machine.Options, newest bool, key *seal.Key) (*otherLogs, error) {
	l := &otherLogs{dir: dir, meta: meta, newest: newest, secrets: key}
	begun := emptyParts(key != nil)
	begin := func(part machine.Part, decode func(body []byte) error) error {
		info, err := os.Stat(filepath.Join(dir, part.String()))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil
		}
		if err == nil {
			err = l.begin(part, decode)
		}
		return err
	}
	err := begin(machine.Launchpad, func(body []byte) (err error) {
		begun.Ledger, err = launchpad.DecodeSnapshot(body, launchpad.DefaultOptions())
		return err
	})
	err = errors.Join(err, begin(machine.Hive, func(body []byte) (err error) {
		begun.Hive, err = hive.DecodeSnapshot(body, hive.DefaultOptions())
		return err
	}))
	if key != nil {
		err = errors.Join(err, begin(machine.Accounts, func(body []byte) (err error) {
			if body, err = key.Open(body, seal.Snapshot); err == nil {
				begun.Money, err = accounts.DecodeSnapshot(body, accounts.Options{Random: rand.Reader})
			}
			return err
		}))
	}
	if err != nil {
		l.close()
		return nil, err
	}
	if l.readers[machine.Launchpad] != nil {
		o.Ledger = begun.Ledger
	}
	if l.readers[machine.Hive] != nil {
		o.Hive = begun.Hive
	}
	if l.readers[machine.Accounts] != nil {
		o.Money = begun.Money
	}
	return l, nil
}

// begin opens the log of a part at its first record, or behind a snapshot that decode takes.
func (l *otherLogs) begin(part machine.Part, decode func(body []byte) error) error {
	at := slices.IndexFunc(dataLogs, func(d dataLog) bool { return d.Name == part.String() })
	dir := filepath.Join(l.dir, part.String())
	o, err := l.meta.LogOptions(part.String(), dataLogs[at].Options)
	if err != nil {
		return err
	}
	o.NoLock, o.Boot = true, datadir.MachineBoot()
	if !l.newest {
		if l.readers[part], err = wal.OpenReader(vfs.OS{}, dir, o, 1); !errors.Is(err, wal.ErrTruncated) {
			return err
		}
	}
	found, err := wal.LoadNewest(vfs.OS{}, dir, o, func(_ wal.SnapshotMeta, r io.Reader) error { return discard(r) })
	if err != nil || !found.OK {
		return err
	}
	from := found.Kept[len(found.Kept)-1].Seq
	if l.newest {
		from = found.Meta.Seq
	}
	_, err = wal.LoadNewest(vfs.OS{}, dir, o, func(m wal.SnapshotMeta, r io.Reader) error {
		if m.Seq != from {
			return wal.ErrUnwanted
		}
		return decoded(func(b []byte) (any, error) { return nil, decode(b) })(r)
	})
	if err == nil {
		l.readers[part], err = wal.OpenReader(vfs.OS{}, dir, o, from+1)
	}
	return err
}

// replay applies the records of all logs: market applies the market's up to a position, the last of which is end.
func (l *otherLogs) replay(s *machine.State, market func(pos uint64) error, end uint64) error {
	next := func(part machine.Part) (machine.Record, error) {
		rd := l.readers[part]
		if rd == nil {
			return machine.Record{}, io.EOF
		}
		raw, err := rd.Next()
		return keeper.Record(part, &raw), err
	}
	money := func() (pos uint64, apply func() error, err error) {
		rec, err := next(machine.Accounts)
		if err == nil {
			rec.Payload, err = l.secrets.Open(rec.Payload, seal.Record)
		}
		if err != nil {
			return 0, nil, err
		}
		r, err := accounts.DecodeRecord(rec.Payload)
		return min(r.EnginePos, end), func() error { return s.Apply(&rec) }, err
	}
	if err := keeper.Merge(money, market, end); err != nil {
		return err
	}
	for part := machine.Launchpad; part <= machine.Hive; part++ {
		for {
			rec, err := next(part)
			if errors.Is(err, io.EOF) {
				break
			}
			if err = errors.Join(err, s.Apply(&rec)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *otherLogs) close() {
	for _, rd := range l.readers {
		if rd != nil {
			_ = rd.Close()
		}
	}
}
