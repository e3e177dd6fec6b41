package exchange

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/server/admin"
)

const (
	// resealEvery is the time between two steps of a walk: at most ten records, or 640 fields, a second.
	resealEvery = 100 * time.Millisecond
	// resealUsers is the number of users that a step looks at: less than a millisecond.
	resealUsers = 4096
	// retireEvery is the time between two looks at the files, and before another try.
	retireEvery = time.Second
)

// formerUse says what still needs a former key of secrets.
type formerUse int32

const (
	formerInState formerUse = iota // perhaps a field of the state, and the files
	formerInFiles                  // a snapshot or a record that the directory keeps
	formerUnused
)

// formerKeys holds what metrics read of the former keys.
type formerKeys struct{ use atomic.Int32 }

func (f *formerKeys) is(u formerUse) bool { return formerUse(f.use.Load()) == u }

// reseal seals again with the first key, field by field, what a former key has sealed, and says when no former key is
// needed any more. A goroutine or a driver runs it.
type reseal struct {
	step.Background
	x     *Running
	use   *formerKeys
	walk  *accounts.Former
	begun bool   // a field was found
	again bool   // the walk under way has found a field: another one follows
	count int    // fields that were sealed again
	from  uint64 // position from which on no field has been sealed by a former key; set from formerInFiles on
	wrong string // the error that was logged last
}

// keepResealing starts the task of a running exchange whose ring has former keys.
func (x *Running) keepResealing() {
	if x.journal == nil || len(x.secrets.Former()) == 0 {
		return
	}
	x.reseal = &reseal{
		Background: x.o.Machine.background(), x: x, use: &x.front.former, walk: x.accounts.view.Former(x.secrets),
	}
	x.reseal.Run("reseal", x.reseal)
}

// Step seals the next fields again, or looks whether the files still have former ones. It returns Stopped after end was
// called.
func (r *reseal) Step() step.Progress {
	switch {
	case r.Ended():
		return step.Progress{Stopped: true}
	case r.use.is(formerInState):
		return r.seal()
	case r.use.is(formerInFiles):
		return r.look()
	}
	return r.Idle(time.Hour)
}

// seal goes on with the walk over the users. A walk that has found nothing is the last one: what this process records
// is sealed by the first key.
func (r *reseal) seal() step.Progress {
	found, done, err := r.walk.Next(resealUsers)
	if err != nil {
		r.warn(err)
		r.again = true
	}
	if len(found) > 0 {
		if !r.begun {
			r.begun = true
			r.x.log.Info("secrets: what a former key has sealed is sealed again with the first key", r.keys()...)
		}
		r.again = true
		res, err := r.x.accounts.do(accounts.Command{Kind: accounts.Reseal, Reseal: found})
		if err != nil {
			r.warn(err)
		}
		if r.count += res.Resealed; res.Resealed == 0 {
			r.restart()
			return r.Idle(retireEvery)
		}
	}
	switch {
	case !done:
		return r.Idle(resealEvery)
	case r.again:
		r.restart()
		if r.wrong != "" {
			return r.Idle(retireEvery)
		}
		return r.Idle(resealEvery)
	}
	return r.stateEnds()
}

// restart begins another walk.
func (r *reseal) restart() { r.walk, r.again = r.x.accounts.view.Former(r.x.secrets), false }

// stateEnds notes that no field of the state needs a former key. The position outlives the process, so that a restart
// does not wait for two further snapshots.
func (r *reseal) stateEnds() step.Progress {
	key := r.x.secrets.ID()
	from, noted := r.x.data.Resealed(key)
	if !noted {
		err := r.x.loop.Query(func() { from = r.x.loop.Position() })
		if err == nil {
			err = r.x.data.NoteResealed(key, from)
		}
		if err != nil {
			r.warn(err)
			r.restart()
			return r.Idle(retireEvery)
		}
	}
	r.from, r.wrong = from, ""
	if log := r.x.journal.log; log.Segments()[0].FirstSeq <= from {
		log.EndSegment()
	}
	r.x.log.Info("secrets: no field of the state needs a former key any more", append(r.keys(), "sealedAgain", r.count,
		"position", from)...)
	r.use.use.Store(int32(formerInFiles))
	return r.look()
}

// look reports when each retained snapshot is of the noted position or a later one, and the log begins behind it.
func (r *reseal) look() step.Progress {
	log := r.x.journal.log
	if r.x.snapshots.keeper.Covered() < r.from || log.Segments()[0].FirstSeq <= r.from {
		return r.Idle(retireEvery)
	}
	metas, err := log.Snapshots()
	if err != nil {
		r.warn(err)
		return r.Idle(retireEvery)
	}
	for i := range metas {
		if metas[i].Seq < r.from {
			return r.Idle(retireEvery)
		}
	}
	r.x.log.Info("secrets: no snapshot and no record of this directory needs a former key any more", r.keys()...)
	r.use.use.Store(int32(formerUnused))
	return step.Worked()
}

// keys returns the names of the keys for a line of the log.
func (r *reseal) keys() []any {
	return []any{"key", r.x.secrets.ID(), "former", strings.Join(r.x.secrets.Former(), " ")}
}

// warn logs an error, once as long as it is the same.
func (r *reseal) warn(err error) {
	if text := err.Error(); text != r.wrong {
		r.wrong = text
		r.x.log.Warn("secrets: fields are not sealed again yet", "error", err)
	}
}

// secretKeys returns what needs each key of the secrets, none where no writer runs.
func (f *front) secretKeys() (all []admin.SecretKey) {
	x := f.phase.Load().running
	if x == nil || x.secrets.Empty() {
		return nil
	}
	all = append(all, admin.SecretKey{ID: x.secrets.ID(), State: true, Files: true})
	for _, id := range x.secrets.Former() {
		all = append(all, admin.SecretKey{
			ID: id, State: f.former.is(formerInState), Files: !f.former.is(formerUnused),
		})
	}
	return all
}
