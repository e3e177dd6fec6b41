package marketdata

// joinFrom is the size in bytes from which a document in parts is joined when it is requested
// again. A larger document does not fit into a connection's write buffer (64 KB), and in one
// piece it bypasses the buffer. Smaller documents are copied into the buffer in either form.
const joinFrom = 64 << 10

// readOnce marks a Doc that one reader has received in parts.
var readOnce = new([]byte)

// Size returns the length of the document in bytes.
func (d *Doc) Size() int {
	if d.Text != nil {
		return d.Text.Size
	}
	return len(d.Body)
}

// CachedBytes returns the document in one piece; nil when writing its parts is better: the document is
// small, or a reader requests it for the first time.
func (d *Doc) CachedBytes() []byte {
	if d.Text == nil {
		return d.Body
	}
	if d.Text.Size < joinFrom {
		return nil
	}
	switch whole := d.joined.Load(); whole {
	case nil:
		if d.joined.CompareAndSwap(nil, readOnce) {
			return nil
		}
		return d.Bytes()
	case readOnce:
		joined := d.Bytes()
		d.joined.CompareAndSwap(readOnce, &joined)
		return joined
	default:
		return *whole
	}
}

// Bytes returns the document in one piece; it joins a document in parts for this caller.
func (d *Doc) Bytes() []byte {
	if d.Text == nil {
		return d.Body
	}
	if whole := d.joined.Load(); whole != nil && whole != readOnce {
		return *whole
	}
	return d.Text.AppendTo(make([]byte, 0, d.Text.Size))
}
