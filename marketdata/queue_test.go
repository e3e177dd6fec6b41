package marketdata

import (
	"slices"
	"testing"
)

// A queue equals a list, whichever end values come and go at.
func TestAQueueEqualsAList(t *testing.T) {
	rnd := newRand(t)
	for _, first := range []string{"front", "back", "either"} {
		var q queue[int]
		var list []int
		most := 0
		for n := range 4000 {
			switch op := rnd.IntN(9); {
			case op < 6 && (n/500)%2 == 0 || len(list) == 0:
				if first == "front" || first == "either" && op%2 == 0 {
					q.pushFront(n)
					list = slices.Insert(list, 0, n)
				} else {
					q.pushBack(n)
					list = append(list, n)
				}
			case op%2 == 0:
				q.popFront()
				list = list[1:]
			default:
				q.popBack()
				list = list[:len(list)-1]
			}
			if q.len() != len(list) {
				t.Fatalf("%d values, want %d", q.len(), len(list))
			}
			for i, want := range list {
				if *q.at(i) != want {
					t.Fatalf("value %d of %d is %d, want %d", i, len(list), *q.at(i), want)
				}
			}
			most = max(most, len(list))
		}
		size := 8
		for size < most {
			size *= 2
		}
		if len(q.buf) != size {
			t.Errorf("a buffer of %d for at most %d values", len(q.buf), most)
		}
	}
}

// The buffer begins with eight values and doubles when one more comes, at either end.
func TestTheBufferOfAQueueDoubles(t *testing.T) {
	var back, front queue[int]
	for n, size := range []int{8, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32} {
		back.pushBack(n)
		front.pushFront(n)
		if len(back.buf) != size || len(front.buf) != size {
			t.Errorf("%d values: buffers of %d and %d, want %d", n+1, len(back.buf), len(front.buf), size)
		}
		if *back.at(0) != 0 || *front.at(0) != n || *back.at(n) != n || *front.at(n) != 0 {
			t.Errorf("%d values: %v and %v", n+1, back.buf, front.buf)
		}
	}
}
