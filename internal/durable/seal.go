package durable

import "tickhive/internal/seal"

// sealed makes the functions that encode and decode records and snapshots seal and open them.
func (o *Options[C, R, T]) sealed() {
	if o.Seal == nil {
		return
	}
	key, appendRecord, decodeRecord, decodeSnapshot := o.Seal, o.AppendRecord, o.DecodeRecord, o.DecodeSnapshot
	o.AppendRecord = func(dst []byte, rec *R) []byte {
		return key.Seal(dst, appendRecord(nil, rec), seal.Record)
	}
	o.DecodeRecord = func(b []byte) (rec R, err error) {
		if b, err = key.Open(b, seal.Record); err != nil {
			return rec, err
		}
		return decodeRecord(b)
	}
	o.DecodeSnapshot = func(b []byte) (State[C, R, T], error) {
		b, err := key.Open(b, seal.Snapshot)
		if err != nil {
			return nil, err
		}
		return decodeSnapshot(b)
	}
}

// sealSnapshot returns the bytes to store of an encoded snapshot.
func (o *Options[C, R, T]) sealSnapshot(body []byte) []byte {
	if o.Seal == nil || o.Seal.Empty() {
		return body
	}
	return o.Seal.Seal(nil, body, seal.Snapshot)
}
