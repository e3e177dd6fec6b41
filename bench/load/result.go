package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of the histograms: 1 us to 2 minutes, with three significant digits.
const (
	maxLatency = 120 * time.Second
	digits     = 3
	coarse     = 2    // digits of the histograms of a second or a route: 20 KB each
	maxSeconds = 3600 // longest run in seconds whose answers a second are recorded
)

// NewHistogram returns an empty histogram of latencies in us.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxLatency.Microseconds(), digits)
}

func newCoarse() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxLatency.Microseconds(), coarse)
}

// Route holds the results of one kind of request.
type Route struct {
	Answers, Errors int64 // requests, and how many of them failed
	Hist            *hdrhistogram.Histogram
}

// count counts a request.
func (r *Route) count(took time.Duration, failed bool) {
	r.Answers++
	if failed {
		r.Errors++
	}
	record(r.Hist, took)
}

// Result holds the results of a run. Server and Client are 0 unless the run measures CPU.
type Result struct {
	Answers int64
	Bytes   int64 // bytes of bodies
	Errors  int64 // number of requests without a response, or with a status other than 2xx and 304
	Late    int64 // number of requests sent more than a millisecond late (open loop)
	Missed  int64 // number of requests not sent before the end (open loop)
	Elapsed time.Duration
	Server  time.Duration // CPU time of the server
	Client  time.Duration // CPU time of this process
	Status  [6]int64      // number of answers by hundreds of the status; 304 counts in [0]
	Hist    *hdrhistogram.Histogram
	Seconds []int64 // number of answers in each second
	Routes  map[string]*Route
	Reasons map[string]int64 // number of answers in which something was wrong, by what it was
	Err     error            // the first error
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
	for name, of := range w.Routes {
		all := r.Route(name)
		all.Answers += of.Answers
		all.Errors += of.Errors
		all.Hist.Merge(of.Hist)
	}
	for reason, n := range w.Reasons {
		r.blame(reason, n)
	}
	if r.Err == nil {
		r.Err = w.Err
	}
}

// maxReasons limits the reasons of a run, which the server names.
const maxReasons = 30

// blame adds n to a reason. Reasons beyond maxReasons are one.
func (r *Result) blame(reason string, n int64) {
	if r.Reasons == nil {
		r.Reasons = map[string]int64{}
	}
	if _, ok := r.Reasons[reason]; !ok && len(r.Reasons) >= maxReasons {
		reason = "other"
	}
	r.Reasons[reason] += n
}

// Blame counts a reason of an error, and stores it as the first error with its message, empty for none.
func (r *Result) Blame(reason, message string) {
	r.blame(reason, 1)
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
	r.countSecond(at)
}

// Route returns the results of a kind of request, which it adds if there are none.
func (r *Result) Route(name string) *Route {
	of := r.Routes[name]
	if of == nil {
		if r.Routes == nil {
			r.Routes = map[string]*Route{}
		}
		of = &Route{Hist: newCoarse()}
		r.Routes[name] = of
	}
	return of
}

// Record adds a latency.
func (r *Result) Record(d time.Duration) { record(r.Hist, d) }

// CountMessage counts a message of a channel, with bytes of text, that arrived at the time at of the run and was
// under way for d.
func (r *Result) CountMessage(channel string, bytes int, at, d time.Duration) {
	r.Answers++
	r.Bytes += int64(bytes)
	r.countSecond(at)
	r.Record(d)
	r.Route(channel).count(d, false)
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	if h.RecordValue(max(d.Microseconds(), 1)) != nil {
		_ = h.RecordValue(maxLatency.Microseconds())
	}
}

func (r *Result) countSecond(at time.Duration) {
	sec := min(int(at/time.Second), maxSeconds)
	if sec >= len(r.Seconds) {
		r.Seconds = slices.Grow(r.Seconds, sec+1)[:sec+1]
	}
	r.Seconds[sec]++
}

// Fail counts an error of a connection and stores the first one.
func (r *Result) Fail(err error) {
	r.Errors++
	if r.Err == nil {
		r.Err = err
	}
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
