// Package jet carries the messages of internal/stream over NATS JetStream. It is the only package that imports NATS.
//
// A Log is the ordered log that internal/stream needs: Conn.Log opens a JetStream stream on an external server or on
// the embedded Server; a Talk is one whose users also speak to each other beside it. Appender drives a stream.Writer
// over any Log. One conformance test runs over them and over the log in memory of package jettest.
//
// Owner: any goroutine may call a Log. Appender.Run is the goroutine of an appender, or a driver calls Appender.Step;
// any goroutine may call its other methods.
//
// Invariants:
//
//  1. Follow delivers messages in the order of their numbers, each once, without a gap, over reconnects and restarts of
//     the server. It does not rely on the reset of the client library: when no message arrives for a while, it asks
//     for the end of the log and begins again. It goes on only behind the message that it has delivered last.
//  2. An Answer says what the server said. That an answer is missing says nothing.
//  3. A publication is sent at most once: nothing is kept for a connection that is down.
//  4. A server that is not on this machine is reached only with TLS and credentials. The embedded one listens at
//     loopback addresses only, and lets in who has its seed.
//  5. A stream that may drop messages by itself is refused.
//
// It does not elect a writer and does not look into messages, apart from what stream.Writer does.
package jet
