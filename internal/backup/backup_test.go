package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// sample returns the files of a small backup.
func sample() []File {
	return []File{
		Bytes(MetaName, []byte("{}\n")),
		Bytes("CLOCK", nil),
		Bytes("engine/000001.wal", bytes.Repeat([]byte{7}, 1000)),
		Bytes("engine/00000000000000000012.snap", bytes.Repeat([]byte{8}, 512)),
	}
}

// written returns the bytes of a backup.
func written(t *testing.T, files []File) []byte {
	t.Helper()
	r, err := NewReader(files)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(iotest.OneByteReader(r))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != r.Size() {
		t.Fatalf("%d bytes, %d were announced", len(b), r.Size())
	}
	return b
}

// opened opens content as a backup.
func opened(t *testing.T, content []byte) (*Archive, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "b.tar")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(name)
	if err == nil {
		t.Cleanup(func() { _ = a.Close() })
	}
	return a, err
}

// A backup is a tar file that other programs read, and Extract gives its files back, meta.json with its new content.
func TestABackupIsATarFile(t *testing.T) {
	raw := written(t, sample())
	tr, want := tar.NewReader(bytes.NewReader(raw)), sample()
	for _, f := range append(want, File{Name: sumName, Size: 64}) {
		h, err := tr.Next()
		if err != nil || h.Name != f.Name || h.Size != f.Size {
			t.Fatalf("%+v, %v, want %s of %d bytes", h, err, f.Name, f.Size)
		}
	}
	if _, err := tr.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last entry: %v", err)
	}
	a, err := opened(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := a.Extract(dir, []byte("new")); err != nil {
		t.Fatal(err)
	}
	for _, f := range want {
		got, err := os.ReadFile(filepath.Join(dir, f.Name))
		content, _ := f.Open()
		text, _ := io.ReadAll(content)
		if f.Name == MetaName {
			text = []byte("new")
		}
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", f.Name, len(got), err)
		}
	}
	if err := a.Extract(dir, nil); err == nil {
		t.Error("Extract takes a directory that is not empty")
	}
}

// Every cut and every flipped byte of a backup is refused.
func TestEveryChangeIsRefused(t *testing.T) {
	raw := written(t, sample())
	var damaged *DamagedError
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1 << (i % 8)
		if _, err := opened(t, changed); !errors.As(err, &damaged) {
			t.Fatalf("flipped at %d: %v", i, err)
		}
		if i%97 == 0 {
			if _, err := opened(t, raw[:i]); !errors.As(err, &damaged) {
				t.Fatalf("cut at %d: %v", i, err)
			}
		}
	}
}

// forged returns a tar file with a right sum around entries that another program wrote.
func forged(t *testing.T, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	end, err := tail(sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), end...)
}

// A file with a right sum that holds anything but the files of a data directory is refused.
func TestHostileNamesAreRefused(t *testing.T) {
	file := func(name string, kind byte) *tar.Header {
		return &tar.Header{Name: name, Typeflag: kind, Mode: 0o600, Format: tar.FormatUSTAR}
	}
	meta := file(MetaName, tar.TypeReg)
	if _, err := opened(t, forged(t, meta)); err != nil {
		t.Fatalf("meta.json alone: %v", err)
	}
	long := file("engine/000002.wal", tar.TypeReg)
	long.Format, long.PAXRecords = tar.FormatPAX, map[string]string{"TICK.hive": "x"}
	for what, list := range map[string][]*tar.Header{
		"up":          {meta, file("../x", tar.TypeReg)},
		"up below":    {meta, file("engine/../../x.wal", tar.TypeReg)},
		"absolute":    {meta, file("/etc/passwd", tar.TypeReg)},
		"unknown":     {meta, file("engine/x", tar.TypeReg)},
		"another log": {meta, file("accounts/000001.wal", tar.TypeReg)},
		"folder":      {meta, file("engine/", tar.TypeDir)},
		"link":        {meta, {Name: "engine/000001.wal", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"twice":       {meta, meta},
		"no meta":     {file("CLOCK", tar.TypeReg)},
		"other mode":  {{Name: MetaName, Typeflag: tar.TypeReg, Mode: 0o777, Format: tar.FormatUSTAR}},
		"pax headers": {meta, long},
		"nothing":     {},
	} {
		var damaged *DamagedError
		if _, err := opened(t, forged(t, list...)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A file that is shorter than it was, and one that cannot be opened, end the backup with an error; one that is longer
// is cut at its size.
func TestFilesThatChange(t *testing.T) {
	as := func(text string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	}
	for what, f := range map[string]File{
		"shorter": {"engine/000001.wal", 5, as("four")},
		"gone":    {"engine/000001.wal", 5, func() (io.ReadCloser, error) { return nil, os.ErrNotExist }},
	} {
		r, err := NewReader([]File{f})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err == nil || int64(len(b)) == r.Size() {
			t.Errorf("%s: %d bytes, %v", what, len(b), err)
		}
	}
	longer := written(t, []File{Bytes(MetaName, nil), {"engine/000001.wal", 4, as("longer")}})
	a, err := opened(t, longer)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.ReadFile("engine/000001.wal"); string(got) != "long" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
