package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of the histograms: up to 2 minutes in steps of 1 us, with three significant digits.
const (
	maxLatency = 120 * time.Second
	digits     = 3
	maxSeconds = 3600 // longest run in seconds whose answers a second are recorded
)

// NewHistogram returns an empty histogram of latencies in us.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxLatency.Microseconds(), digits)
}

// Outcome says how a request ended.
type Outcome struct {
	Answered bool // with any status
	Failed   bool // without an answer, or with a status that is an error
	Missed   bool // never sent
}

// Route holds the results of one kind of request.
type Route struct {
	Answers, Errors, Missed int64
	Hist                    *hdrhistogram.Histogram // of all requests that were due, or of the messages
}

// Routes holds the results of each kind of request. Any goroutine may count.
type Routes struct {
	mu   sync.Mutex
	rows map[string]*Route
}

// Count counts a request of a kind, or a message of a channel, that ended after the time took.
func (r *Routes) Count(name string, took time.Duration, end Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.row(name)
	record(of.Hist, took)
	if end.Answered {
		of.Answers++
	}
	if end.Failed {
		of.Errors++
	}
	if end.Missed {
		of.Missed++
	}
}

// Fail counts an error of a channel that is no message.
func (r *Routes) Fail(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.row(name).Errors++
}

// Rows returns the results. Nothing may be counted from then on.
func (r *Routes) Rows() map[string]*Route { return r.rows }

// row returns the results of a kind of request, which it adds if there are none. The caller holds the lock.
func (r *Routes) row(name string) *Route {
	of := r.rows[name]
	if of == nil {
		if r.rows == nil {
			r.rows = map[string]*Route{}
		}
		of = &Route{Hist: NewHistogram()}
		r.rows[name] = of
	}
	return of
}

// Result holds the results of a run. Server and Client are 0 unless the run measures CPU.
type Result struct {
	Answers int64
	Bytes   int64 // bytes of bodies
	Errors  int64 // number of requests without a response, or with a status other than 2xx and 304
	Late    int64 // number of requests whose writing began more than a millisecond late (open loop)
	Missed  int64 // number of requests not sent before the end (open loop)
	// Elapsed is the time of sending behind the warm-up: the schedule's length, or longer when requests that were due
	// were still sent. Of a closed loop it ends with the last answer.
	Elapsed time.Duration
	Server  time.Duration // CPU time of the server
	Client  time.Duration // CPU time of this process
	Status  [6]int64      // number of answers by hundreds of the status; 304 counts in [0]
	Hist    *hdrhistogram.Histogram
	Seconds []int64 // number of answers in each second
	Unsent  []int64 // number of requests due in each second that were never sent
	Routes  map[string]*Route
	Reasons map[string]int64 // number of errors of connections and answers, by what was wrong
	// Messages has the first message of each reason that has one.
	Messages map[string]string
	Err      error // the first error
}

// Rate returns the answers a second.
func (r *Result) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answers) / r.Elapsed.Seconds()
}

// ServerUs returns the server's CPU an answer, in us.
func (r *Result) ServerUs() float64 { return perAnswer(r.Server, r.Answers) }

// ClientUs returns this process's CPU an answer, in us.
func (r *Result) ClientUs() float64 { return perAnswer(r.Client, r.Answers) }

func perAnswer(d time.Duration, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(d.Nanoseconds()) / 1e3 / float64(n)
}

// Statuses returns the counts of answers by status as text.
func (r *Result) Statuses() string {
	var parts []string
	for i, n := range r.Status {
		switch {
		case n == 0:
		case i == 0:
			parts = append(parts, fmt.Sprintf("304 x %d", n))
		default:
			parts = append(parts, fmt.Sprintf("%dxx x %d", i, n))
		}
	}
	if r.Errors > 0 {
		parts = append(parts, fmt.Sprintf("errors %d", r.Errors))
	}
	return strings.Join(parts, ", ")
}

// Merge adds the results of a worker.
func (r *Result) Merge(w *Result) {
	r.Answers += w.Answers
	r.Bytes += w.Bytes
	r.Errors += w.Errors
	r.Late += w.Late
	r.Missed += w.Missed
	for i, n := range w.Status {
		r.Status[i] += n
	}
	if w.Hist != nil {
		r.Hist.Merge(w.Hist)
	}
	if n := len(w.Seconds) - len(r.Seconds); n > 0 {
		r.Seconds = append(r.Seconds, make([]int64, n)...)
	}
	for i, n := range w.Seconds {
		r.Seconds[i] += n
	}
	for reason, n := range w.Reasons {
		r.blame(reason, w.Messages[reason], n)
	}
	if r.Err == nil {
		r.Err = w.Err
	}
}

// maxReasons limits the reasons of a run, which the server names.
const maxReasons = 30

// blame adds n to a reason. Reasons beyond maxReasons are one.
func (r *Result) blame(reason, message string, n int64) {
	if r.Reasons == nil {
		r.Reasons, r.Messages = map[string]int64{}, map[string]string{}
	}
	if _, ok := r.Reasons[reason]; !ok && len(r.Reasons) >= maxReasons {
		reason = "other"
	}
	r.Reasons[reason] += n
	if message != "" && r.Messages[reason] == "" {
		r.Messages[reason] = message
	}
}

// Blame counts a reason of an error, and stores it as the first error with its message, empty for none.
func (r *Result) Blame(reason, message string) {
	r.blame(reason, message, 1)
	if r.Err == nil && message != "" {
		r.Err = errors.New(reason + ": " + message)
	}
}

// count counts a response that arrived at the time at of the run.
func (r *Result) count(a *Answer, at time.Duration) {
	r.Answers++
	r.Bytes += int64(len(a.Body))
	switch c := a.Status / 100; {
	case a.Status == 304:
		r.Status[0]++
	case c >= 1 && c <= 5:
		r.Status[c]++
		if c > 2 {
			r.Errors++
		}
	default:
		r.Errors++
	}
	countSecond(&r.Seconds, at)
}

// Record adds a latency.
func (r *Result) Record(d time.Duration) { record(r.Hist, d) }

// CountMessage counts a message with bytes of text that arrived at the time at of the run and was under way for d.
func (r *Result) CountMessage(bytes int, at, d time.Duration) {
	r.Answers++
	r.Bytes += int64(bytes)
	countSecond(&r.Seconds, at)
	r.Record(d)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	if h.RecordValue(max(d.Microseconds(), 0)) != nil {
		_ = h.RecordValue(maxLatency.Microseconds())
	}
}

// countSecond counts what was at a time of the run.
func countSecond(seconds *[]int64, at time.Duration) {
	sec := min(int(at/time.Second), maxSeconds)
	if sec >= len(*seconds) {
		*seconds = slices.Grow(*seconds, sec+1-len(*seconds))[:sec+1]
	}
	(*seconds)[sec]++
}

// Fail counts an error of a connection by its kind.
func (r *Result) Fail(err error) {
	r.Errors++
	r.Blame(failure(err), err.Error())
}

// dialError is the error of a connection that could not be opened.
type dialError struct{ error }

// failure names the kind of an error of a connection.
func failure(err error) string {
	switch {
	case errors.As(err, new(dialError)):
		return "not connected"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %s", AnswerTimeout)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection closed without a whole answer"
	}
	return "no answer that can be read"
}

// selfCPU returns the CPU time of this process, user and system. Package proc has a more exact one for Linux; this
// package is also in the product, which runs elsewhere.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
