package marketdata

// wholeFrom is the size from which a document in parts that is asked for again is joined: it
// does not fit into a connection's write buffer (64 KB), and what is in one piece is written
// past it. Smaller ones are copied into it either way.
const wholeFrom = 64 << 10

// askedOnce stands in a Doc that one reader has had in parts.
var askedOnce = new([]byte)

// Size is the length of the document.
func (d *Doc) Size() int {
	if d.Text != nil {
		return d.Text.Size
	}
	return len(d.Body)
}

// InOne is the document in one piece; nil when it is better written in its parts: it is
// small, or this is the first time that a reader asks for it.
func (d *Doc) InOne() []byte {
	if d.Text == nil {
		return d.Body
	}
	if d.Text.Size < wholeFrom {
		return nil
	}
	switch whole := d.whole.Load(); whole {
	case nil:
		if d.whole.CompareAndSwap(nil, askedOnce) {
			return nil
		}
		return d.Whole()
	case askedOnce:
		joined := d.Whole()
		d.whole.CompareAndSwap(askedOnce, &joined)
		return joined
	default:
		return *whole
	}
}

// Whole is the document in one piece, joined for the caller when it is in parts.
func (d *Doc) Whole() []byte {
	if d.Text == nil {
		return d.Body
	}
	if whole := d.whole.Load(); whole != nil && whole != askedOnce {
		return *whole
	}
	return d.Text.AppendTo(make([]byte, 0, d.Text.Size))
}
