package marketdata

import "time"

// seconds returns the length of an interval; 0 for Month and Year.
func (i Interval) seconds() int64 {
	return [Intervals]int64{60, 180, 300, 900, 1800, 3600, 14400, 86400, 0, 0}[i]
}

// Floor returns the Unix second (UTC) at which the interval containing sec starts. Intervals of fixed length
// start at multiples of the length; months and years follow the calendar.
func (i Interval) Floor(sec int64) int64 {
	if n := i.seconds(); n != 0 {
		r := sec % n
		if r < 0 {
			r += n
		}
		return sec - r
	}
	t := time.Unix(sec, 0).UTC()
	month := t.Month()
	if i == Year {
		month = time.January
	}
	return time.Date(t.Year(), month, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// Next returns the first boundary after sec: the end of the interval that contains sec.
func (i Interval) Next(sec int64) int64 {
	if n := i.seconds(); n != 0 {
		return i.Floor(sec) + n
	}
	t := time.Unix(sec, 0).UTC()
	if i == Year {
		return time.Date(t.Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// floorSec returns the whole second of a time in Unix ns.
func floorSec(ns int64) int64 {
	s := ns / nanosecond
	if ns%nanosecond < 0 {
		s--
	}
	return s
}
