// Package player decides when a recording goes on: playing at a speed, paused, step by step, or at full speed to a
// time.
//
//	replay of a recording              Player                 a person
//	  Due(record) --------------------> waits <------------- Play, Pause, Step, SetSpeed, SeekTo
//	  rest(time) <------------------- before it waits        State
//	  ends <------------------------- Left                   Leave
//
// A seek back ends the run of the recording: Due and AwaitBack return ErrBack, the caller begins the recording again
// on an empty market, and that run goes at full speed to the wanted time.
//
// Owner: one goroutine runs the recording and calls Begin, Due, End and AwaitBack; any goroutine calls the others.
//
// It knows no market, no file and no clock of the market.
package player
