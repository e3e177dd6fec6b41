package binance

import (
	"maps"
	"slices"
)

// SignedRoute is a route or method that asks for a key.
type SignedRoute struct {
	Method, Path string // of HTTP; "": none
	API          string // method of the WebSocket API; "": none
	Keyed        bool   // the name of the key is enough
}

// SignedRoutes returns the routes and the methods that ask for a key.
func SignedRoutes() (list []SignedRoute) {
	for _, e := range endpoints() {
		if e.security != open {
			list = append(list, SignedRoute{Method: e.method, Path: e.path, API: e.api, Keyed: e.security == keyed})
		}
	}
	for _, name := range []string{"session.logon", "userDataStream.subscribe.signature"} {
		if e := (&socket{}).sessionMethod(name); e.security == signed {
			list = append(list, SignedRoute{API: name})
		}
	}
	return list
}

// Interface returns the routes, as "METHOD path", and the methods of the WebSocket API.
func Interface() (list []string) {
	for _, e := range endpoints() {
		list = append(list, e.method+" "+e.path, e.api)
	}
	return slices.AppendSeq(list, maps.Keys(sessionMethods))
}
