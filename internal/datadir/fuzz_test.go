package datadir

import (
	"bytes"
	"path"
	"testing"

	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// fuzzed returns a file system whose directory has one file with this content.
func fuzzed(t *testing.T, name string, content []byte) *vfstest.Mem {
	t.Helper()
	fsys := vfstest.NewMem()
	if err := fsys.MkdirAll(damageDir); err != nil {
		t.Fatal(err)
	}
	file := path.Join(damageDir, name)
	f, err := fsys.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(content, 0); err != nil && len(content) > 0 {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return fsys
}

// No meta.json panics: it is refused, or it is stored as a file that reads back.
func FuzzMeta(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add([]byte(`{"format":5,"writer":"TickHive","epoch":"0123456789abcdef","clean":true,"incidents":null}`))
	f.Add(sealMeta([]byte("{\n  \"format\": 5,\n  \"writer\": \"TickHive\"\n}")))
	f.Add([]byte(`{"format":1,"clock":"virtual","end":{},"history":"zz","crc32c":"00000000"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		fsys := fuzzed(t, "meta.json", content)
		d := &Dir{path: damageDir, fsys: fsys}
		if err := d.load(); err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			if got := fsys.Content(d.Sub("meta.json")); !bytes.Equal(got, content) {
				t.Fatalf("%q is refused and changed to %q", content, got)
			}
			return
		}
		if err := d.save(); err != nil {
			t.Fatal(err)
		}
		again := &Dir{path: damageDir, fsys: fsys}
		if err := again.load(); err != nil {
			t.Fatalf("%q is taken, and what is stored of it is refused: %v", content, err)
		}
	})
}
