package marketdata

// joinFrom is the size in bytes above which a document in parts is joined on its second request. A larger
// document does not fit into a connection's write buffer (64 KB); in one piece it is written without the copy
// into that buffer. A smaller document is copied into the buffer in either form.
const joinFrom = 64 << 10

// readOnce marks a Doc in parts that has been sent once: the next request joins it.
var readOnce = new([]byte)

// Size returns the length of the document in bytes.
func (d *Doc) Size() int {
	if d.Text != nil {
		return d.Text.Size
	}
	return len(d.Body)
}

// CachedBytes returns the document in one piece, or nil when the caller should write its parts: the document is
// small, or this is its first request.
func (d *Doc) CachedBytes() []byte {
	if d.Text == nil {
		return d.Body
	}
	if d.Text.Size < joinFrom {
		return nil
	}
	switch whole := d.joined.Load(); whole {
	case nil:
		d.joined.CompareAndSwap(nil, readOnce)
		return nil
	case readOnce:
		joined := d.Bytes()
		d.joined.CompareAndSwap(readOnce, &joined)
		return joined
	default:
		return *whole
	}
}

// Bytes returns the document in one piece. It joins a document in parts on each call and caches nothing.
func (d *Doc) Bytes() []byte {
	if d.Text == nil {
		return d.Body
	}
	if whole := d.joined.Load(); whole != nil && whole != readOnce {
		return *whole
	}
	return d.Text.AppendTo(make([]byte, 0, d.Text.Size))
}
