package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"  // rest_client_* and leader_election_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // workqueue_*

	"github.com/karmada-target/karmada-mirror/mirror"
)

// disabled is the address that turns a server off.
const disabled = "0"

// serveMetrics serves our metrics and those of component-base about client-go and
// the process.
func (d *daemon) serveMetrics(ctx context.Context) error {
	server := newServer(d.metricsHandler())
	if d.protection != nil {
		server.TLSConfig = d.protection.certificate.config()
	}
	return d.serveHTTP(ctx, "metrics", d.options.metricsAddress, server)
}

func (d *daemon) metricsHandler() http.Handler {
	gatherers := prometheus.Gatherers{d.registry, legacyregistry.DefaultGatherer}
	var metrics http.Handler = promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(d.logger), MaxRequestsInFlight: 16})
	if d.protection != nil {
		metrics = d.protection.reviewer.guard(metrics)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, metrics)
	return mux
}

// serveProbes serves /livez and /readyz. The process is alive as long as it
// answers: a restart does not help a daemon that cannot reach the API server.
func (d *daemon) serveProbes(ctx context.Context) error {
	return d.serveHTTP(ctx, "probes", d.options.probeAddress, newServer(probesHandler(d.controller.Ready)))
}

func probesHandler(ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", probe("ping", func() error { return nil }))
	mux.HandleFunc("GET /readyz", probe("caches", ready))
	return mux
}

// probe answers as Kubernetes' own components do: ok, or the failed check. Kubelets
// have no token, so anyone may ask: what the API server said is only for the log.
func probe(name string, check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := check()
		switch _, verbose := r.URL.Query()["verbose"]; {
		case err != nil:
			http.Error(w, fmt.Sprintf("[-]%s failed: %s", name, redacted(err)), http.StatusServiceUnavailable)
		case verbose:
			fmt.Fprintf(w, "[+]%s ok\n", name)
		default:
			fmt.Fprint(w, "ok")
		}
	}
}

// newServer bounds the resources that all requests may use, before anyone is authenticated. There is no HTTP/2: it has no
// benefit here, and has been a way to exhaust servers.
func newServer(handler http.Handler) *http.Server {
	server := &http.Server{
		Handler:           handler,
		Protocols:         &http.Protocols{},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    8 << 10, // net/http adds 4 KiB
	}
	new(connections).bound(server)
	server.Protocols.SetHTTP1(true)
	return server
}

// serveHTTP serves over TLS if the server is configured for it.
func (d *daemon) serveHTTP(ctx context.Context, what, address string, server *http.Server) error {
	if address == disabled {
		return nil
	}
	listener, err := d.options.Network.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("cannot serve %s: %w", what, err)
	}
	d.logger.Info("serving", zap.String("what", what), zap.Stringer("address", listener.Addr()))
	server.ErrorLog = zap.NewStdLog(d.logger.WithOptions(mirror.Sparing())) // anyone can fail a handshake
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })           // probes and scrapes can be cut off
	defer stop()
	serve := server.Serve
	if server.TLSConfig != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve %s: %w", what, err)
	}
	return nil
}
