package cli

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
)

// disabled is the address that turns a server off.
const disabled = "0"

// serveMetrics serves our metrics and those that component-base keeps of
// client-go and of the process.
func (d *daemon) serveMetrics(ctx context.Context) error {
	gatherers := prometheus.Gatherers{d.registry, legacyregistry.DefaultGatherer}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorLog: zap.NewStdLog(d.logger)}))
	return d.serveHTTP(ctx, "metrics", d.options.metricsAddress, mux)
}

// serveProbes serves /livez and /readyz. The process is alive as long as it
// answers: a daemon that cannot reach the API server is not mended by a restart.
func (d *daemon) serveProbes(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", probe("ping", func() error { return nil }))
	mux.HandleFunc("GET /readyz", probe("caches", d.controller.Ready))
	return d.serveHTTP(ctx, "probes", d.options.probeAddress, mux)
}

// probe answers as Kubernetes' own components do: ok, or the failed check.
func probe(name string, check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := check()
		switch _, verbose := r.URL.Query()["verbose"]; {
		case err != nil:
			http.Error(w, fmt.Sprintf("[-]%s failed: %v", name, err), http.StatusServiceUnavailable)
		case verbose:
			fmt.Fprintf(w, "[+]%s ok\n", name)
		default:
			fmt.Fprint(w, "ok")
		}
	}
}

func (d *daemon) serveHTTP(ctx context.Context, what, address string, handler http.Handler) error {
	if address == disabled {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("cannot serve %s: %w", what, err)
	}
	d.logger.Info("serving", zap.String("what", what), zap.Stringer("address", listener.Addr()))
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: zap.NewStdLog(d.logger)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // probes and scrapes can be cut off
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve %s: %w", what, err)
	}
	return nil
}
