// Package decimal reads recorded numbers exactly: decimals, and floats as programs print them.
//
//	d, err := decimal.Parse([]byte("1.25e-3"))
//	lots, err := d.Units(8) // an error when that loses digits
//
// Owner: a Decimal is a value. Retains: nothing. Invariant: no number passes through a float.
//
// It does not know which numbers a price or an amount may have.
package decimal
