package seal

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func key(b byte) *Key { return ring(b) }

func ring(bytes ...byte) *Key {
	var secrets [][SecretBytes]byte
	for _, b := range bytes {
		secrets = append(secrets, [SecretBytes]byte{0: b, 31: 7})
	}
	return New(secrets...)
}

// A message opens to what was sealed, by the same secret and for the same purpose, and shows nothing of it.
func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("the private key ", 20))
	for _, n := range []int{0, 1, 15, 16, 17, len(secret)} {
		plain := secret[:n]
		sealed := key(1).Seal([]byte("before"), plain, KeySecret)
		if !bytes.HasPrefix(sealed, []byte("before")) {
			t.Fatalf("%q does not keep what dst had", sealed)
		}
		sealed = sealed[len("before"):]
		if n > 8 && bytes.Contains(sealed, plain[:8]) {
			t.Errorf("%d bytes: the sealed message shows its text", n)
		}
		if len(sealed) != headerBytes+n+tagBytes {
			t.Errorf("%d bytes are %d sealed ones", n, len(sealed))
		}
		if id, ok := KeyOf(sealed); !ok || id != key(1).ID() {
			t.Errorf("sealed with %q %v, want %q", id, ok, key(1).ID())
		}
		if got, err := key(1).Open(sealed, KeySecret); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %q, %v", n, got, err)
		}
		if again := key(1).Seal(nil, plain, KeySecret); bytes.Equal(again, sealed) {
			t.Error("two messages of one text are equal")
		}
	}
}

// Every flipped bit, every missing end, another purpose and another key are refused.
func TestWhatIsNotSealedByThisKeyIsRefused(t *testing.T) {
	t.Parallel()
	k := key(1)
	sealed := k.Seal(nil, []byte("secret"), KeySecret)
	for i := range len(sealed) * 8 {
		b := bytes.Clone(sealed)
		b[i/8] ^= 1 << (i % 8)
		if plain, err := k.Open(b, KeySecret); err == nil && i >= 8 {
			t.Fatalf("bit %d flipped: opened to %q", i, plain)
		}
	}
	for n := 1; n < len(sealed); n++ {
		if plain, err := k.Open(sealed[:n], KeySecret); err == nil {
			t.Fatalf("%d of %d bytes: opened to %q", n, len(sealed), plain)
		}
	}
	for name, c := range map[string]struct {
		key     *Key
		purpose string
		want    string
	}{
		"another purpose": {k, KeyName, "no name of an API key that the key " + k.ID() + " sealed"},
		"another key": {
			key(2), KeySecret,
			"sealed with the key " + k.ID() + ", and auth.secret_key_file has the key " + key(2).ID() +
				": put the key " + k.ID() + " back into the file as a further line",
		},
		"other keys": {ring(2, 3), KeySecret, "has the key " + key(2).ID() + ", " + key(3).ID() + ": put"},
		"no key":     {&Key{}, KeySecret, "sealed with the key " + k.ID() + ", and no key is configured"},
	} {
		if plain, err := c.key.Open(sealed, c.purpose); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, plain, err, c.want)
		}
	}
	if plain, err := k.Open(sealed, KeySecret); err != nil || string(plain) != "secret" {
		t.Errorf("in the end: %q, %v", plain, err)
	}
}

// The first key of a ring seals, and all of them open what they have sealed.
func TestEveryKeyOfARingOpens(t *testing.T) {
	t.Parallel()
	k := ring(3, 1, 2)
	if k.ID() != key(3).ID() || !k.Has(key(2).ID()) || k.Has(key(4).ID()) || k.Has("") {
		t.Errorf("%v", k)
	}
	if got, err := key(3).Open(k.Seal(nil, []byte("secret"), KeySecret), KeySecret); err != nil ||
		string(got) != "secret" {
		t.Errorf("sealed by the ring: %q, %v", got, err)
	}
	for _, b := range []byte{1, 2, 3} {
		sealed := key(b).Seal(nil, []byte("secret"), KeySecret)
		if got, err := k.Open(sealed, KeySecret); err != nil || string(got) != "secret" {
			t.Errorf("sealed by key %d: %q, %v", b, got, err)
		}
		if _, err := k.Open(sealed, KeyName); err == nil {
			t.Errorf("sealed by key %d: opened for another purpose", b)
		}
	}
}

// Plain messages stay what they are, with a key and without.
func TestPlainMessagesPass(t *testing.T) {
	t.Parallel()
	for _, k := range []*Key{key(1), {}} {
		for _, plain := range []string{"", "\x01record", "text"} {
			if got, err := k.Open([]byte(plain), KeySecret); err != nil || string(got) != plain {
				t.Errorf("%q is opened to %q, %v", plain, got, err)
			}
		}
	}
	if got := (&Key{}).Seal([]byte("a"), []byte("b"), KeySecret); string(got) != "ab" {
		t.Errorf("sealed without a key: %q", got)
	}
}

// The format is fixed: a message of this program opens in every later one.
func TestTheFormatIsFixed(t *testing.T) {
	t.Parallel()
	k := key(1)
	if got, want := k.ID(), "87de6efac14370bf"; got != want {
		t.Errorf("the id of the key is %s, want %s", got, want)
	}
	message, err := hex.DecodeString("000287de6efac14370bf3d8de769e96bfa98ffd5369e4adb91fe43e4a9f6ac67d2bd20" +
		"5854e9c6bdc60eb5b93aaa2e4519ccde64879400")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := k.Open(message, "snapshot"); err != nil || string(plain) != "state" {
		t.Errorf("%q, %v", plain, err)
	}
	for _, other := range []byte{1, 3} {
		message[1] = other
		says := fmt.Sprintf("version %d of a sealed message, this program reads 2", other)
		if _, err := k.Open(message, "snapshot"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("version %d: %v", other, err)
		}
	}
}

// A key is 64 hexadecimal digits, and a ring one a line. No error and no text shows it.
func TestKeysAreParsedAndNotShown(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0badc0de", 8)
	k, err := ParseKey(" " + text + "\n")
	if err != nil || len(k.ID()) != 16 || k.Empty() {
		t.Fatalf("%v, %v", k, err)
	}
	other := strings.Repeat("0badf00d", 8)
	both, err := ParseKey("\n" + text + "\r\n\n  " + other)
	if err != nil || both.ID() != k.ID() || len(both.ring) != 2 {
		t.Errorf("two keys: %v, %v", both, err)
	}
	for _, bad := range []string{
		"", "\n \n", text[1:], text + "00", "x" + text[1:], text[:32] + "\n" + text[32:], text + " " + other,
		text + "\n" + other[1:], strings.Repeat(text+"\n", maxRing+1),
	} {
		if _, err := ParseKey(bad); err == nil || len(bad) > 8 && strings.Contains(err.Error(), bad[:8]) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if shown := fmt.Sprintf(verb, k); shown != "key "+k.ID() {
			t.Errorf("%s shows %q", verb, shown)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := key(1)
	f.Add(k.Seal(nil, []byte("record"), KeySecret))
	f.Add([]byte{mark, version})
	f.Add([]byte("plain"))
	f.Fuzz(func(t *testing.T, message []byte) {
		plain, err := k.Open(message, KeySecret)
		if _, sealed := KeyOf(message); !sealed {
			if err != nil || !bytes.Equal(plain, message) {
				t.Fatalf("plain %q: %q, %v", message, plain, err)
			}
			return
		}
		if err == nil && len(plain) != len(message)-headerBytes-tagBytes {
			t.Fatalf("%q opens to %q", message, plain)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	k, plain := key(1), make([]byte, 200)
	for b.Loop() {
		k.Seal(nil, plain, KeySecret)
	}
}

func BenchmarkOpen(b *testing.B) {
	k := key(1)
	sealed := k.Seal(nil, make([]byte, 200), KeySecret)
	for b.Loop() {
		if _, err := k.Open(sealed, KeySecret); err != nil {
			b.Fatal(err)
		}
	}
}
