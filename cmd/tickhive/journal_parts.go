package main

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"

	"tickhive/accounts"
	"tickhive/hive"
	"tickhive/internal/datadir"
	"tickhive/internal/machine"
	"tickhive/internal/machine/keeper"
	"tickhive/internal/seal"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/marketdata"
)

// machineOptions returns the options of a machine that replays records, which have every decision of the settings that
// they were made with.
func machineOptions(m marketdata.Options) machine.Options {
	return machine.Options{Market: m, Launchpad: launchpad.DefaultOptions(), Hive: hive.DefaultOptions()}
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

// accountsLog is the log of the accounts in a data directory.
type accountsLog struct {
	secrets *seal.Key
	reader  *wal.Reader // of the records behind the state; nil: the accounts are left out
}

// openAccountsLog returns the log, and the state at which a replay begins that has the journal's records behind from:
// an empty one for 0 if the log has its first record, the newest snapshot's for keeper.NoLimit, otherwise that of the
// oldest snapshot that has folded the journal's records up to from. It leaves the accounts out without a key that opens
// them, and where there is no log.
func openAccountsLog(dir string, meta *datadir.Meta, from uint64, key *seal.Key) (
	l *accountsLog, s *accounts.State, err error,
) {
	l = &accountsLog{secrets: key}
	path := filepath.Join(dir, "accounts")
	if info, err := os.Stat(path); key == nil || err != nil || !info.IsDir() {
		return l, nil, nil //nolint:nilerr // a directory of the journal alone
	}
	o := wal.Options{NoLock: true, RecordVersion: accounts.RecordVersion, Boot: datadir.MachineBoot()}
	if o, err = meta.LogOptions("accounts", o); err != nil {
		return nil, nil, err
	}
	if from == 0 {
		if l.reader, err = wal.OpenReader(vfs.OS{}, path, o, 1); !errors.Is(err, wal.ErrTruncated) {
			return l, accounts.New(accounts.Options{Random: rand.Reader}), err
		}
	}
	var at uint64
	_, err = wal.LoadNewest(vfs.OS{}, path, o, func(m wal.SnapshotMeta, r io.Reader) error {
		var next *accounts.State
		err := decoded(func(b []byte) (_ any, err error) {
			if b, err = key.Open(b, seal.Snapshot); err == nil {
				next, err = accounts.DecodeSnapshot(b, accounts.Options{Random: rand.Reader})
			}
			return nil, err
		})(r)
		if err != nil || s != nil && next.EnginePos() < from {
			return err
		}
		if s, at = next, m.Seq; from == keeper.NoLimit {
			return nil
		}
		return wal.ErrUnwanted // an older one may do
	})
	if err == nil && s != nil {
		l.reader, err = wal.OpenReader(vfs.OS{}, path, o, at+1)
	}
	return l, s, err
}

// replay applies the records of both logs: journal applies the journal's up to a position, the last of which is end.
func (l *accountsLog) replay(s *machine.State, journal func(pos uint64) error, end uint64) error {
	next := func() (pos uint64, apply func() error, err error) {
		if l.reader == nil {
			return 0, nil, io.EOF
		}
		raw, err := l.reader.Next()
		rec := keeper.Record(machine.OfAccounts, &raw)
		if err == nil {
			rec.Payload, err = l.secrets.Open(rec.Payload, seal.Record)
		}
		if err != nil {
			return 0, nil, err
		}
		r, err := accounts.DecodeRecord(rec.Payload)
		return min(r.EnginePos, end), func() error { return s.Apply(&rec) }, err
	}
	return keeper.Merge(next, journal, end)
}

func (l *accountsLog) close() {
	if l.reader != nil {
		_ = l.reader.Close()
	}
}
