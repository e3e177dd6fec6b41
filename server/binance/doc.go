// Package binance serves the interface of Binance's spot exchange on its own listener, so that programs which were
// written for that exchange trade here after a change of their base URL (docs/contract/binance.md).
//
// Owner: a Facade belongs to the front; any goroutine may call its handlers. A call belongs to the goroutine of its
// request, a socket and its streams to the goroutine of the sockets (Facade.Run), which package stream serves.
//
// Invariants:
//
//  1. Every answer has the form that the other exchange gives the same fact, or is one of its errors. A function
//     without a counterpart is refused with -1020, never answered with an invented value.
//  2. A parameter that no handler reads is refused (-1104), so no instruction is dropped silently.
//  3. A request pays its weight before its handler does any work.
//  4. A change is carried out only after every parameter was read and checked.
//  5. The messages of market data are differences between two views, made when the socket's backlog has room: a slow
//     client gets fewer and larger ones. Streams of one name whose clients know the same share them.
//  6. A user data stream has every event of its account, in order. Its messages are queued; a full queue closes the
//     socket.
//  7. A method of the WebSocket API and its route have one handler.
//
// It translates and decides nothing: reads come from the published views, orders go through internal/entry. It does not
// match, hold money or store keys.
package binance
