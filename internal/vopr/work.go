package vopr

import (
	"slices"
	"strings"

	"github.com/tickhive/tickhive/internal/machine"
)

// request is a request under way. done receives its answer, or the zero answer when the process ended
// before.
type request struct {
	class string // at most one request of a class is under way
	sent  int    // world.answers then
	done  func(a answer)
}

// ask sends a request in a coroutine.
func (w *world) ask(class string, k *key, method, target, body string, done func(a answer)) {
	w.askFor(class, k, method, target, func() string { return body }, done)
}

// askFor is ask with a body that is made in the coroutine, from the answers to other requests.
func (w *world) askFor(class string, k *key, method, target string, make func() string, done func(a answer)) {
	r := &request{class, w.answers, done}
	w.inflight = append(w.inflight, r)
	if class != "" {
		w.busy[class] = true
	}
	w.mix.Requests++
	w.p.begin(method+" "+target, func() {
		body := make()
		if w.p.dead {
			return
		}
		a := w.call(k, method, target, body)
		if w.p.dead {
			return // die ends it
		}
		w.inflight = slices.DeleteFunc(w.inflight, func(other *request) bool { return other == r })
		delete(w.busy, class)
		w.answers++
		if a.ok() && isSynced(method, target) {
			w.safe = max(w.safe, r.sent)
		}
		w.logf("%s %s %s -> %d %s", method, target, body, a.status, a.body)
		switch {
		case a.ok():
			w.mix.Acknowledged++
		case a.unknown():
			w.mix.Unknown++
		default:
			w.mix.Refused++
		}
		if a.status == 500 && a.code() != "SPAWNER_FAILED" {
			w.fail("%s %s %s: %d %s", method, target, body, a.status, a.body)
		}
		done(a)
	})
}

// isSynced reports whether the answer to a request says that its record is synced, and so is every record before it:
// records of the parts beside the order books wait for that, whatever the policy.
func isSynced(method, target string) bool {
	if method == "GET" || strings.Contains(target, "/halt") { // which may change nothing
		return false
	}
	return strings.Contains(target, "/users") || strings.Contains(target, "/apikeys") ||
		strings.Contains(target, "/launchpad/") || strings.Contains(target, "/hive/") ||
		strings.Contains(target, "/agents/")
}

// maxInFlight bounds the requests under way.
const maxInFlight = 6

// work sends requests until there were n commands more. It reports whether there were.
func (w *world) work(n int) bool {
	limit := w.mix.Commands() + n
	return w.run(func() bool {
		if w.mix.Commands() >= limit {
			return true
		}
		if len(w.inflight) < maxInFlight && w.rnd.IntN(6) == 0 {
			clients{w}.next()
		}
		return false
	})
}

// clients send the requests of a world.
type clients struct{ *world }

// next sends a request that the seed chooses.
func (w clients) next() {
	n := w.rnd.IntN(100)
	switch w.only { // ranges of the cases below
	case machine.Accounts:
		n = 67 + n%15
	case machine.Launchpad:
		n = 82 + n%9
	case machine.Hive:
		n = 91 + n%9
	default: // Market: of any part
	}
	switch {
	case n < 20:
		w.batch()
	case n < 32:
		w.place()
	case n < 37:
		w.placeList()
	case n < 40:
		w.allIn()
	case n < 45:
		w.signed()
	case n < 52:
		w.quote()
	case n < 54:
		w.passPair()
	case n < 62:
		w.change()
	case n < 67:
		w.look()
	case n < 77:
		w.moveMoney()
	case n < 82:
		w.changeAccount()
	case n < 91:
		w.useLaunchpad()
	default:
		w.useHive()
	}
}
