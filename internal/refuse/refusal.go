package refuse

import "fmt"

// Refusal is a refused request. It implements error, so that functions can return it as one.
type Refusal struct {
	Code    Code
	Message string // a sentence that names the rule and its limit
	Field   string // the parameter, header or member that is wrong; empty when none is
	// RetryAfter is the number of seconds after which the same request may succeed; 0 when
	// that is unknown.
	RetryAfter int64
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

// New returns a refusal with a formatted message.
func New(code Code, field, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Param returns the refusal of a wrong parameter, header or member.
func Param(field, format string, args ...any) *Refusal {
	return New(InvalidParam, field, format, args...)
}

// Missing returns the refusal of a request whose field names something that does not exist.
func Missing(field, format string, args ...any) *Refusal {
	return New(NotFound, field, format, args...)
}

// Later returns the refusal of a request that may succeed after the given number of seconds.
func Later(seconds int64, format string, args ...any) *Refusal {
	return New(Unavailable, "", format, args...).After(seconds)
}

// Unknown returns the refusal of a change that was written but not confirmed by the disk: the next start may or
// may not find it. what is the subject of the message: the change. then tells the client how to find out.
func Unknown(what, then string) *Refusal {
	return New(OutcomeUnknown, "", "%s may have been recorded: the disk did not confirm the write. "+
		"When the exchange takes changes again, %s", what, then)
}

// Unsettled returns the refusal of a change that is recorded here and that the stream did not confirm in time; what and
// then as for Unknown.
func Unsettled(what, then string) *Refusal {
	return New(OutcomeUnknown, "", "%s may have been recorded: it is on this machine, and the stream did not confirm "+
		"it in time, so it counts unless this machine is lost. When the exchange takes changes again, %s", what, then)
}

// Unwritten returns the refusal of a change that could not be written: what is the subject of the message. untilRestart
// reports that a sync has failed: repeating the request does not help until the operator has started the program again.
func Unwritten(what string, untilRestart bool) *Refusal {
	if untilRestart {
		return New(Unavailable, "", "%s takes no changes until the operator restarts the exchange, because a write "+
			"to its disk has failed for good; nothing was applied.", what)
	}
	return Later(5, "%s takes no changes at the moment, because its disk takes no writes; nothing was applied.", what)
}

// After sets RetryAfter, in seconds, and returns r.
func (r *Refusal) After(seconds int64) *Refusal {
	r.RetryAfter = seconds
	return r
}
