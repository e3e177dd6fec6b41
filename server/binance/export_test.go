package binance

import (
	"maps"
	"slices"
)

// Route is a route, a method, or both.
type Route struct {
	Method, Path string // of HTTP; "": none
	API          string // method of the WebSocket API; "": none
	Keyed        bool   // the name of the key is enough
	Open         bool   // no key is needed
}

// Routes returns the routes.
func Routes() (list []Route) {
	for _, e := range endpoints() {
		list = append(list, Route{e.method, e.path, e.api, e.security == keyed, e.security == open})
	}
	return list
}

// SignedRoutes returns the routes and the methods that ask for a key.
func SignedRoutes() []Route {
	list := slices.DeleteFunc(Routes(), func(r Route) bool { return r.Open })
	for _, name := range []string{"session.logon", "userDataStream.subscribe.signature"} {
		if e := (&socket{}).sessionMethod(name); e.security == signed {
			list = append(list, Route{API: name})
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
