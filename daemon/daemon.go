// Package daemon is the process that mirrors: its flags, connections and configuration,
// leader election, servers and log. Package mirror decides what is mirrored.
package daemon

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/metrics"
	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/watch"
)

// daemon is the wired process.
type daemon struct {
	options *Options
	build   metrics.Build
	logger  *zap.Logger
	rest    *rest.Config
	// credentials are the files that client-go reads once, from before it read them.
	credentials fingerprint
	dynamic     dynamic.Interface
	client      kubernetes.Interface
	events      *events
	// configMap follows the configuration; nil if it is a file.
	configMap  *watch.Watch
	controller *mirror.Controller
	// leads: this replica holds the Lease, and others may take over.
	leads atomic.Bool
	// subject is the ConfigMap as last seen; nil before that.
	subject atomic.Pointer[corev1.ObjectReference]
	// taken is the version of the ConfigMap that was last put into force or rejected; nil before.
	taken atomic.Pointer[string]
	// inForce is the configuration in force, and rejected the one that is not, if the ConfigMap has another; nil before.
	inForce  atomic.Pointer[Configuration]
	rejected atomic.Pointer[Rejection]
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	// protection guards /metrics; nil if the metrics are open.
	protection *protection
}

// Run runs the daemon until ctx is done or a part of it fails. Everything in the process logs
// through its logger, to out.
func Run(ctx context.Context, o *Options, b metrics.Build, out *Output) error {
	logger, err := newLogger(o.logLevel, o.logFormat, out)
	if err != nil {
		return err
	}
	o.output = out
	defer func() { _ = out.Sync() }() // perhaps no one reads it
	logForClients(logger.WithOptions(redacting()))
	return Serve(ctx, o, b, logger)
}

// Serve is Run with the caller's logger: several daemons can run in one process.
func Serve(ctx context.Context, o *Options, b metrics.Build, logger *zap.Logger) error {
	if err := o.complete(); err != nil {
		return err
	}
	logger = logger.WithOptions(redacting())
	logger.Info("starting", zap.String("version", b.Version), zap.String("revision", b.Revision), zap.String("identity", o.lease.identity))

	d := newDaemon(o, b, logger)
	var err error
	if d.protection, err = newProtection(o.secure, UserAgent(b), logger); err != nil {
		return err
	}
	limitMemory(memlimit.FromCgroup, logger)
	if err := d.connect(); err != nil {
		return err
	}
	if err := d.newController(); err != nil {
		return err
	}
	return d.serve(ctx)
}

// newDaemon creates a daemon without connections. It takes the fingerprint of the files before
// they are read, so that a change in between is noticed.
func newDaemon(o *Options, b metrics.Build, logger *zap.Logger) *daemon {
	d := &daemon{options: o, build: b, logger: logger, credentials: fingerprintOf(o.files()), registry: prometheus.NewRegistry()}
	d.metrics = metrics.New(d.registry, b)
	if o.output != nil {
		d.metrics.LogLinesDropped(o.output.dropped.Load)
	}
	return d
}

// connect creates the clients. Events have a client of their own, see events.go, and so
// has the Lease, see leader.go.
func (d *daemon) connect() error {
	c, err := d.options.connection(UserAgent(d.build))
	if err != nil {
		return err
	}
	d.rest = c.Config
	d.metrics.Token(func() (issued, expires time.Time) { return lifetimeOf(c.token()) })
	if d.dynamic, err = watch.NewClient(d.rest); err != nil {
		return fmt.Errorf("cannot make a dynamic client: %w", err)
	}
	d.events, err = newEvents(d.rest)
	return err
}

func (d *daemon) newController() (err error) {
	if d.client, err = kubernetes.NewForConfig(d.rest); err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	d.metrics.Configuration(d.options.configurationName())
	if d.options.configFile == "" {
		d.configMap = d.newConfigMapWatch()
	}
	d.controller, err = mirror.New(mirror.Options{
		REST:               d.rest,
		Dynamic:            d.dynamic,
		Resolver:           watch.Discovery{Client: d.client.Discovery()},
		Events:             d.events,
		Metrics:            d.metrics,
		Logger:             d.logger,
		Clock:              clock.RealClock{},
		ConcurrentSyncs:    d.options.concurrentSyncs,
		DeletionSettle:     d.options.deletionSettle,
		LeastBake:          d.options.leastBake,
		WavesWithoutEvents: d.options.wavesWithoutEvents,
		ResyncPeriod:       d.options.resyncPeriod,
		ListDeadline:       d.options.listDeadline,
		Subject:            d.subject.Load,
		Configuration:      d.configMap,

		ConfigurationVersions: d.configurationVersions,
	})
	return err
}

// serve runs all parts of the process.
func (d *daemon) serve(ctx context.Context) error {
	p := parts{
		others: []func(context.Context) error{d.serveMetrics, d.serveProbes, d.serveProfiles, d.controller.Run, d.controller.RecordEvents, d.loadConfiguration, d.publishStatus},
		follow: d.followCredentials,
		lead:   d.lead,
		logger: d.logger,
	}
	return p.run(ctx)
}
