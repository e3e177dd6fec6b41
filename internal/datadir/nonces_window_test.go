package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tickhive/accounts/auth"
	"tickhive/internal/vfs"
)

const windowMs = 1_767_225_600_000 // the timestamp of these tests

// keepMany keeps nonces until the file has at least so many bytes of lines, and returns the number of nonces.
func keepMany(t *testing.T, n *Nonces, size int64) (kept int) {
	t.Helper()
	for ; n.size < size; kept++ {
		nonce := fmt.Appendf(nil, "nonce-%06d", kept)
		if err := n.Keep(0, windowMs, "key-of-this-size-or-so-to-fill", nonce); err != nil {
			t.Fatal(err)
		}
	}
	return kept
}

// copyOf returns a copy of a file that is still open, as a killed process leaves it.
func copyOf(t *testing.T, path string) (copied string, raw []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied = filepath.Join(t.TempDir(), "NONCES")
	if err := os.WriteFile(copied, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied, raw
}

func needsWindow(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("files are mapped on Linux alone")
	}
}

// Every nonce that was kept through windows is refused after a kill, and the next process goes on behind them.
func TestNoncesOfWindowsSurviveAKill(t *testing.T) {
	needsWindow(t)
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	kept := keepMany(t, n, 5*nonceWindowBytes/2)
	if n.window.bytes == nil || n.window.at == 0 {
		t.Fatal("no second window was mapped")
	}
	killed, raw := copyOf(t, path)
	if zeros := int64(len(raw)) - n.size - int64(endBytes); zeros <= 0 || zeros > nonceWindowBytes {
		t.Fatalf("%d zeros follow the last line", zeros)
	}
	for range 2 {
		m, _, used := usedOf(t, killed, 0)
		if len(used) != kept || m.Damaged() != "" {
			t.Fatalf("%d of %d nonces, damaged: %q", len(used), kept, m.Damaged())
		}
		if err := m.Keep(0, windowMs, "key", fmt.Appendf(nil, "later-%d", kept)); err != nil {
			t.Fatal(err)
		}
		kept++
		killed, _ = copyOf(t, killed)
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != n.size+int64(endBytes) {
		t.Fatalf("after a stop the file has %d bytes, not %d (%v)", info.Size(), n.size+int64(endBytes), err)
	}
}

// A kill may cut the copy of a line into the window at any byte, and a power cut may lose any sector of it. The next
// start then knows the nonces before it, or refuses every timestamp that may have been accepted.
func TestNoncesRefuseAfterAnyCutOfAWindow(t *testing.T) {
	needsWindow(t)
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	keepMany(t, n, 4000)
	_, before := copyOf(t, path)
	at := n.size
	keepMany(t, n, 4000+600) // some lines, over a border of sectors
	_, after := copyOf(t, path)
	defer func() { _ = n.close() }()
	check := func(what string, raw []byte) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "NONCES")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		m, notBefore, err := openNonces(vfs.OS{}, file, windowMs, true)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.close() }()
		whole := bytes.Equal(raw, before) || bytes.Equal(raw, after)
		if shut := notBefore > windowMs+auth.MaxWindowMs; shut != (m.Damaged() != "") || shut == whole {
			t.Fatalf("%s: not before %d, damaged %q", what, notBefore-windowMs, m.Damaged())
		}
	}
	end := n.size + int64(endBytes)
	for k := at; k <= end; k++ {
		check(fmt.Sprintf("cut at %d", k-at), append(bytes.Clone(after[:k]), before[k:]...))
	}
	for from := at &^ (vfs.SectorBytes - 1); from < end; from += vfs.SectorBytes {
		torn := bytes.Clone(after)
		copy(torn[from:], before[from:min(from+vfs.SectorBytes, int64(len(before)))])
		check(fmt.Sprintf("sector %d is lost", from/vfs.SectorBytes), torn)
	}
	torn := bytes.Clone(after)
	torn[len(torn)-1] = 1
	check("a byte behind the last line", torn)
	check("too many zeros", append(bytes.Clone(after), make([]byte, nonceWindowBytes)...))
}

// A window whose memory cannot be written, because the file was cut, is an error at most and never the end of the
// process; lines are written by calls from then on.
func TestNoncesOutliveAWindowThatFaults(t *testing.T) {
	needsWindow(t)
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	keepMany(t, n, 5000)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := copyMapped(n.window.bytes, []byte("x")); err == nil || !strings.Contains(err.Error(), "mapped file") {
		t.Fatalf("a write behind the end of the file: %v", err)
	}
	keepMany(t, n, n.size+100)
	if n.window.bytes != nil || !n.window.off {
		t.Fatal("the window is still in use")
	}
	_ = n.close()
}

// fullDisk is a file on a disk that has no room for a window.
type fullDisk struct {
	vfs.File
	vfs.Mapper
}

var errFull = errors.New("no space left on device")

func (fullDisk) Preallocate(int64, int64) error { return errFull }

// Without room for a window the lines are written one by one, as long as they have room.
func TestNoncesWithoutRoomForAWindow(t *testing.T) {
	needsWindow(t)
	path := filepath.Join(t.TempDir(), "NONCES")
	n, _, _ := usedOf(t, path, 0)
	n.f = fullDisk{n.f, n.f.(vfs.Mapper)}
	kept := keepMany(t, n, 5000)
	if n.window.bytes != nil {
		t.Fatal("a window was mapped")
	}
	copied, raw := copyOf(t, path)
	if int64(len(raw)) != n.size+int64(endBytes) {
		t.Fatalf("the file has %d bytes", len(raw))
	}
	if m, _, used := usedOf(t, copied, 0); len(used) != kept || m.Damaged() != "" {
		t.Fatal(len(used), m.Damaged())
	}
	_ = n.close()
}
