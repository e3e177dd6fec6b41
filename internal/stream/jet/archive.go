package jet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// snapshotsSuffix ends the name of the object store with the snapshots of a stream.
const snapshotsSuffix = "_SNAP"

// archiveChunk is the size of the messages of an archived snapshot.
const archiveChunk = 256 << 10

// jetArchive is a JetStream object store, which the first Put makes.
type jetArchive struct{ l *jetLog }

func (l *jetLog) Archive() Archive { return jetArchive{l} }

func (l *jetLog) Trim(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(seq+1)); err != nil {
		return fmt.Errorf("%w: remove the messages up to %d: %w", ErrUnavailable, seq, err)
	}
	return nil
}

func newestFirst(all []Archived) {
	slices.SortFunc(all, func(a, b Archived) int { return cmp.Compare(b.Seq, a.Seq) })
}

// store opens the object store, nil if there is none. With absent it makes it.
func (a jetArchive) store(ctx context.Context, absent bool) (store jetstream.ObjectStore, err error) {
	err = patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		js := a.l.conn.js
		store, err = js.ObjectStore(ctx, a.l.name+snapshotsSuffix)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			if !absent {
				store = nil
				return nil
			}
			store, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
				Bucket: a.l.name + snapshotsSuffix, Description: "snapshots of nodes, by their last message",
				Storage: jetstream.FileStorage, Replicas: a.l.stream.CachedInfo().Config.Replicas,
			})
		}
		if err != nil {
			return fmt.Errorf("%w: the snapshots of %s: %w", ErrUnavailable, a.l.name, err)
		}
		return nil
	})
	return store, err
}

// List implements Archive. Objects of other programs are passed over.
func (a jetArchive) List(ctx context.Context) (all []Archived, err error) {
	store, err := a.store(ctx, false)
	if store == nil || err != nil {
		return nil, err
	}
	err = patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		all = nil
		infos, err := store.List(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			return fmt.Errorf("%w: the snapshots of %s: %w", ErrUnavailable, a.l.name, err)
		}
		for _, i := range infos {
			if seq, err := strconv.ParseUint(i.Name, 10, 64); err == nil {
				all = append(all, Archived{Seq: seq, Bytes: i.Size, AtMs: i.ModTime.UnixMilli()})
			}
		}
		return nil
	})
	newestFirst(all)
	return all, err
}

// Put implements Archive.
func (a jetArchive) Put(ctx context.Context, seq uint64, body io.Reader, keep int) error {
	store, err := a.store(ctx, true)
	if err != nil {
		return err
	}
	meta := jetstream.ObjectMeta{
		Name: strconv.FormatUint(seq, 10), Opts: &jetstream.ObjectMetaOptions{ChunkSize: archiveChunk},
	}
	if _, err := store.Put(ctx, meta, bufio.NewReaderSize(body, archiveChunk)); err != nil {
		return fmt.Errorf("%w: snapshot %d: %w", ErrUnavailable, seq, err)
	}
	all, err := a.List(ctx)
	if err != nil {
		return err
	}
	for _, old := range all[min(keep, len(all)):] {
		err := store.Delete(ctx, strconv.FormatUint(old.Seq, 10))
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) { // another node may have removed it
			return fmt.Errorf("%w: remove snapshot %d: %w", ErrUnavailable, old.Seq, err)
		}
	}
	return nil
}

// Open implements Archive. The library compares the body with its SHA-256.
func (a jetArchive) Open(ctx context.Context, seq uint64) (io.ReadCloser, error) {
	store, err := a.store(ctx, false)
	if err != nil {
		return nil, err
	}
	if store == nil {
		return nil, fmt.Errorf("%w: there is no snapshot %d", ErrTrimmed, seq)
	}
	body, err := store.Get(ctx, strconv.FormatUint(seq, 10))
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, fmt.Errorf("%w: there is no snapshot %d", ErrTrimmed, seq)
	case err != nil:
		return nil, fmt.Errorf("%w: snapshot %d: %w", ErrUnavailable, seq, err)
	}
	return body, nil
}
