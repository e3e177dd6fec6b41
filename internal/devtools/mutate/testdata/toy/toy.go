package toy

import "errors"

// kept counts calls; no test reads it.
var kept int

// Clamp returns x within 0 and most. The edges are equal on both sides.
func Clamp(x, most int) int {
	kept++
	if x > most {
		return most
	}
	return x
}

// Half divides; its test has every outcome.
func Half(x int) (int, error) {
	if x%2 == 1 || x < 0 {
		return 0, errors.New("odd or negative")
	}
	return x / 2, nil
}

// Down counts to zero and never ends when a mutant lets it.
func Down(n int) (steps int) {
	for n > 0 {
		n -= 3
		steps++
	}
	return steps
}

// Unreached has no test.
func Unreached(a, b bool) bool { return a && b }

// Check has a panic that no input reaches.
func Check(n int) int {
	if n*n < 0 {
		panic("BUG")
	}
	return n
}

// Sum adds what is not negative.
func Sum(list ...int) (total int) {
	for _, x := range list {
		if x < 0 {
			continue
		}
		total += x
	}
	return total
}

// Between returns x within low and high.
func Between(x, low, high int) (int, error) {
	if err := ordered(low, high); err != nil {
		return 0, err
	}
	return min(max(x, low), high), nil
}

func ordered(low, high int) error {
	if low > high {
		return errors.New("the bounds are crossed")
	}
	return nil
}

// Wait returns when the sender has sent.
func Wait() int {
	c := make(chan int)
	go send(c)
	return <-c
}

func send(c chan int) { c <- 1 }
