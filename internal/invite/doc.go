// Package invite converts numbers below 2^40 to the codes that users pass on, and back.
//
// Owner: none; functions only.
package invite
