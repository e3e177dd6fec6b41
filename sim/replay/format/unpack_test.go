package format

import (
	"io"
	"strings"
	"testing"
)

// A text much longer than its file is refused; one that is as long and packs badly is not.
func TestATextIsBoundedByItsSize(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("1\n", 512)
	read := func(size int64, long int) error {
		in := &bounded{strings.NewReader(strings.Repeat(zeros, long)), max(maxText, maxRatio*size)}
		_, err := io.Copy(io.Discard, in)
		return err
	}
	if err := read(1000, maxText/1024+1); err == nil || !strings.Contains(err.Error(), "200 times its packed size") {
		t.Errorf("%v", err)
	}
	if err := read(1000, maxText/1024); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if err := read(maxText/maxRatio+10, maxText/1024+1); err != nil {
		t.Errorf("a text that packs badly: %v", err)
	}
}
