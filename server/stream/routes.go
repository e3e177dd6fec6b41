package stream

import (
	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
)

// Routes returns the resource that serves GET /ws (docs/contract/streams.md).
func Routes(h *Hub) edge.Resource {
	up := websocket.FastHTTPUpgrader{
		ReadBufferSize: 1, WriteBufferSize: 1, // unused: inbound reads and writer writes
		// Every origin is allowed, because market data is public and private channels need a signature.
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true },
	}
	return func(*edge.Server) []*edge.Route {
		return []*edge.Route{{
			Method: fasthttp.MethodGet, Path: "/ws", Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return upgrade(c, h, &up) },
		}}
	}
}

func upgrade(c *edge.Ctx, h *Hub, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	text, err := c.Str("streams")
	if err != nil {
		return err
	}
	first, err := parseStreams(text)
	if err != nil {
		return err
	}
	if !websocket.FastHTTPIsWebSocketUpgrade(c.RequestCtx) {
		return refuse.Param("Upgrade", "This path serves WebSocket only: send the header Upgrade: websocket.")
	}
	select {
	case <-h.stop:
		return refuse.Later(1, "The server is shutting down; connect again in a few seconds.")
	default:
	}
	remote := c.ClientAddr()
	failed := up.Upgrade(c.RequestCtx, func(ws *websocket.Conn) {
		newConn(h, ws.NetConn(), remote).serve(h, first)
	})
	if failed != nil {
		c.Response.Reset()
		return refuse.Param("Upgrade", "The WebSocket handshake failed: %s.", failed)
	}
	return nil
}
