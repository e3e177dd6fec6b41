package binance

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"regexp"
	"strconv"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/marketdata"
)

// clientIDs makes the ids of orders, lists and cancels that were sent without one, as the other exchange does:
//
//	id u64, use u64  --AES-128-->  128 bits  --base 62-->  22 characters
//
// So nothing is stored: the id of an order is computed wherever the order is shown, and read back where a request names
// it. The key depends on the seed of the directory, which a restart, a restored copy and a later writer of a cluster
// have too. It is no secret that protects anything: who guesses the id of an order still needs the account's key.
//
// Owner: immutable; any goroutine may use it.
type clientIDs struct{ cipher cipher.Block }

// idUse says what an id is for.
type idUse uint64

const (
	ofOrder  idUse = iota
	ofCancel       // of the request that canceled the order or the list, of which there is one at most
	ofList
)

// generatedLen is the length of a generated id, and digitChunk as many digits as fit into 64 bits.
const (
	generatedLen = 22
	digitChunk   = 10
)

const digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// pow62 is 62^digitChunk.
const pow62 = 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62

func newClientIDs(seed uint64) clientIDs {
	key := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("tickhive generated client order ids"), seed))
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		panic("BUG: binance: " + err.Error()) // no other length
	}
	return clientIDs{block}
}

// generate returns the id for an order or a list.
func (c clientIDs) generate(id engine.OrderID, use idUse) string {
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint64(b[:8], uint64(id))
	binary.BigEndian.PutUint64(b[8:], uint64(use))
	c.cipher.Encrypt(b[:], b[:])
	return in62(b)
}

// randomID returns an id that names nothing yet: an amendment sends it like the id of a client.
func randomID() string {
	var b [aes.BlockSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return in62(b)
}

// in62 returns 128 bits in base 62.
func in62(b [aes.BlockSize]byte) string {
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var text [generatedLen]byte
	for at := generatedLen; at > 0; {
		var chunk uint64
		high, chunk = high/pow62, high%pow62
		low, chunk = bits.Div64(chunk, low, pow62)
		for range min(digitChunk, at) {
			at--
			text[at] = digits62[chunk%62]
			chunk /= 62
		}
	}
	return string(text[:])
}

// named returns the order or the list for which an id was generated, false: the id is none of that use.
func (c clientIDs) named(text string, use idUse) (engine.OrderID, bool) {
	if len(text) != generatedLen {
		return 0, false
	}
	var high, low uint64
	for i := range len(text) {
		digit := text[i]
		switch {
		case digit >= 'a':
			digit -= 'a' - 36
		case digit >= 'A':
			digit -= 'A' - 10
		default:
			digit -= '0'
		}
		if digit >= 62 || digits62[digit] != text[i] {
			return 0, false
		}
		over, top := bits.Mul64(high, 62)
		carry, next := bits.Mul64(low, 62)
		var c1, c2 uint64
		low, c1 = bits.Add64(next, uint64(digit), 0)
		if high, c2 = bits.Add64(top, carry, c1); over|c2 != 0 {
			return 0, false // above 2^128
		}
	}
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint64(b[:8], high)
	binary.BigEndian.PutUint64(b[8:], low)
	c.cipher.Decrypt(b[:], b[:])
	return engine.OrderID(binary.BigEndian.Uint64(b[:8])), idUse(binary.BigEndian.Uint64(b[8:])) == use
}

// orderID returns the client order id of an order: the one that was sent, or a generated one.
func (f *Facade) orderID(r *marketdata.OrderRecord) string {
	if r.Client != "" {
		return r.Client
	}
	return f.ids.generate(r.ID, ofOrder)
}

// listID returns the client id of a list: the one that was sent, or a generated one.
func (f *Facade) listID(l *marketdata.ListRecord) string {
	if l.Client != "" {
		return l.Client
	}
	return f.ids.generate(l.ID, ofList)
}

// cancelID returns the id of the request that has canceled an order: the one that was sent, or a generated one, which
// the orders of a list share.
func (f *Facade) cancelID(r *marketdata.OrderRecord, sent string) string {
	if sent != "" {
		return sent
	}
	return f.ids.generate(cmp.Or(r.List, r.ID), ofCancel)
}

const clientIDForm = `^[\.A-Z\:/a-z0-9_-]{1,64}$`

var clientIDText = regexp.MustCompile(clientIDForm)

// clientID reads a client order id, "" for none.
func (q *call) clientID(name string) (string, *failure) {
	client, given := q.text(name)
	if given && !clientIDText.MatchString(client) {
		return "", illegal(name, clientIDForm)
	}
	return client, nil
}

// repeated returns the open order of the caller for which the id of a new order was generated, 0 for none: the engine
// knows the ids alone that were sent. An order that ends right after this look could have been refused just before its
// end.
func (q *call) repeated(o *entry.Place, in *engine.Instrument) engine.OrderID {
	id, ok := q.f.ids.named(string(o.Client), ofOrder)
	if !ok || id.Pair() != in.ID {
		return 0
	}
	a, refused := q.f.opt.Entry.Order(q.account(), strconv.FormatUint(uint64(id), 10))
	if refused != nil || a.Record.Client != "" || !a.Record.Status.Open() {
		return 0
	}
	return id
}
