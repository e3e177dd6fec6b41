package toy

import (
	"testing"
	"time"
)

func TestClamp(t *testing.T) {
	for x, want := range map[int]int{2: 2, 5: 5, 9: 5} {
		if got := Clamp(x, 5); got != want {
			t.Errorf("%d: %d, want %d", x, got, want)
		}
	}
}

func TestHalf(t *testing.T) {
	for x, want := range map[int]int{0: 0, 4: 2, 5: -1, -2: -1, -1: -1} {
		if got, err := Half(x); err == nil && got != want || (err != nil) != (want < 0) {
			t.Errorf("%d: %d, %v", x, got, err)
		}
	}
}

func TestDown(t *testing.T) {
	if got := Down(6); got != 2 {
		t.Errorf("%d steps, want 2", got)
	}
}

func TestCheck(t *testing.T) {
	if Check(3) != 3 {
		t.Error("changed")
	}
}

func TestSum(t *testing.T) {
	if got := Sum(0, 3, -4, 5); got != 8 {
		t.Errorf("%d, want 8", got)
	}
}

func TestBetween(t *testing.T) {
	for x, want := range map[int]int{1: 3, 4: 4, 9: 5} {
		if got, err := Between(x, 3, 5); got != want || err != nil {
			t.Errorf("%d: %d, %v, want %d", x, got, err, want)
		}
	}
	if err := ordered(2, 1); err == nil {
		t.Error("crossed bounds are accepted")
	}
}

func TestWait(t *testing.T) {
	defer time.AfterFunc(time.Hour, func() {}).Stop() // the runtime sees no deadlock
	if Wait() != 1 {
		t.Error("another value")
	}
}
