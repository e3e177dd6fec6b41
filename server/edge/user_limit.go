package edge

import (
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"tickhive/engine"
	"tickhive/internal/refuse"
)

// maxLimitedUsers bounds the users whose recent requests are stored; beyond it the user whose last request is the
// oldest is dropped.
const maxLimitedUsers = 100_000

// UserLimiter limits the requests of each user to one route (docs/contract/limits.md#rate-limits) with the same
// sliding log that limits requests per address. Any goroutine may use it.
type UserLimiter struct {
	perMinute int
	mu        sync.Mutex
	users     *simplelru.LRU[engine.AccountID, *slidingLog]
}

// NewUserLimiter returns a limiter that accepts perMinute requests of a user in any 60 s.
func NewUserLimiter(perMinute int) (*UserLimiter, error) {
	if perMinute < 1 || perMinute > MaxPerMinute {
		return nil, fmt.Errorf("edge: %d requests of a user in 60 s: must be 1 to %d", perMinute, MaxPerMinute)
	}
	users, err := simplelru.NewLRU[engine.AccountID, *slidingLog](maxLimitedUsers, nil)
	if err != nil {
		return nil, fmt.Errorf("edge: table of limited users: %w", err)
	}
	return &UserLimiter{perMinute: perMinute, users: users}, nil
}

// Check counts a request of the caller, or refuses it. Callers of the allow-list have no limit.
func (l *UserLimiter) Check(c *Ctx) *refuse.Refusal {
	if c.Unlimited() {
		return nil
	}
	l.mu.Lock()
	log, ok := l.users.Get(c.Principal.Account)
	if !ok {
		log = &slidingLog{}
		l.users.Add(c.Principal.Account, log)
	}
	waitNs := log.Count(c.MachineNs(), l.perMinute, l.perMinute)
	l.mu.Unlock()
	if waitNs == 0 {
		return nil
	}
	c.edge.limited[limitUser].Add(1)
	return tooMany(waitNs)
}
