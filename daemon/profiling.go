package daemon

import (
	"context"
	"net/http"
	"net/http/pprof" // it also registers with http.DefaultServeMux, which no server uses
)

// serveProfiles serves the profiles of Go's runtime, if --enable-pprof is set.
func (d *daemon) serveProfiles(ctx context.Context) error {
	if !d.options.profiling.enabled {
		return nil
	}
	server := newServer(profilesHandler())
	server.WriteTimeout = 0 // a profile takes as long as the request says
	return d.serveHTTP(ctx, "profiles", d.options.profiling.address, server)
}

func profilesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
