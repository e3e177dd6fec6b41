package jet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What is tried again for half a minute ends with what the last whole attempt has found, not with the time that has
// passed in the middle of one.
func TestPatienceEndsWithTheLastWholeAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts, begun := 0, time.Now()
		err := patiently(t.Context(), func(ctx context.Context) error {
			attempts++
			select {
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
			case <-time.After(time.Second):
				return fmt.Errorf("%w: attempt %d", ErrUnavailable, attempts)
			}
		})
		want := fmt.Sprintf("%v: attempt %d", ErrUnavailable, attempts-1)
		if err == nil || err.Error() != want || attempts < 20 || time.Since(begun) != formWithin {
			t.Errorf("after %d attempts in %v: %v, want %s", attempts, time.Since(begun), err, want)
		}
		err = patiently(t.Context(), func(context.Context) error { return ErrLost })
		if !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
	})
}
