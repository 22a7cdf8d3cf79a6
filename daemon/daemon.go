// Package daemon is the process that mirrors: its flags, connections and configuration,
// leader election, servers and log. Package mirror decides what is mirrored.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
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
	// files are those that are read once; see credentials.go.
	files       []string
	credentials fingerprint
	dynamic     dynamic.Interface
	recorder    record.EventRecorder
	controller  *mirror.Controller
	// subject is the ConfigMap as last seen; nil before that.
	subject atomic.Pointer[corev1.ObjectReference]
	// taken is the version of the ConfigMap that was last put into force or rejected; nil before.
	taken    atomic.Pointer[string]
	registry *prometheus.Registry
	metrics  *metrics.Metrics
	// protection guards /metrics; nil if the metrics are open.
	protection *protection
}

// Run runs the daemon until ctx is done or a part of it fails.
func Run(ctx context.Context, o *Options, b metrics.Build) error {
	if err := o.complete(); err != nil {
		return err
	}
	logger, err := newLogger(o.logLevel, o.logFormat)
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }() // standard error cannot always be synced
	logger.Info("starting", zap.String("version", b.Version), zap.String("revision", b.Revision), zap.String("identity", o.lease.identity))

	d := &daemon{options: o, build: b, logger: logger, registry: prometheus.NewRegistry()}
	d.metrics = metrics.New(d.registry, b)
	if d.protection, err = newProtection(o.secure, UserAgent(b), logger); err != nil {
		return err
	}
	limitMemory(logger)
	broadcaster, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	if err := d.newController(); err != nil {
		return err
	}
	return d.serve(ctx)
}

const (
	// shutdownTimeout is how long everything may take to end from the signal on:
	// finishing the writes in flight, releasing the Lease, and the rest. The grace
	// period of a Pod is 30 s.
	shutdownTimeout = 24 * time.Second
	// partsTimeout is how long the parts may take to stop once leading has ended.
	// While the API server does not answer, client-go cannot be interrupted
	// everywhere.
	partsTimeout = 10 * time.Second
)

// wait returns when all parts have ended, or partsTimeout after they should have.
func (d *daemon) wait(ctx context.Context, group *errgroup.Group, parts context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	signalled, stopping := ctx.Done(), parts.Done()
	var shutdown, last <-chan time.Time
	for {
		select {
		case err := <-ended:
			return err
		case <-signalled:
			signalled, shutdown = nil, time.After(shutdownTimeout)
			continue
		case <-stopping:
			stopping, last = nil, time.After(partsTimeout)
			continue
		case <-shutdown:
		case <-last:
		}
		d.logger.Warn("timed out waiting for all parts to stop: exiting without them")
		return errors.Join(context.Cause(parts), ctx.Err())
	}
}

// connect creates the clients. Events have a client of their own, see events.go, and so
// has the Lease, see leader.go.
func (d *daemon) connect(ctx context.Context) (record.EventBroadcaster, error) {
	c, err := d.options.connection(UserAgent(d.build))
	if err != nil {
		return nil, err
	}
	d.rest = c.Config
	d.files = append(c.files, d.options.secure.files()...)
	d.credentials = fingerprintOf(d.files)
	d.metrics.Token(func() (issued, expires time.Time) { return lifetimeOf(c.token()) })
	if d.dynamic, err = watch.NewClient(d.rest); err != nil {
		return nil, fmt.Errorf("cannot make a dynamic client: %w", err)
	}
	var broadcaster record.EventBroadcaster
	if broadcaster, d.recorder, err = newEvents(ctx, d.rest); err != nil {
		return nil, err
	}
	return broadcaster, nil
}

func (d *daemon) newController() error {
	client, err := kubernetes.NewForConfig(d.rest)
	if err != nil {
		return fmt.Errorf("cannot make a client for discovery: %w", err)
	}
	d.controller, err = mirror.New(mirror.Options{
		REST:            d.rest,
		Dynamic:         d.dynamic,
		Resolver:        watch.Discovery{Client: client.Discovery()},
		Recorder:        d.recorder,
		Metrics:         d.metrics,
		Logger:          d.logger,
		Clock:           clock.RealClock{},
		ConcurrentSyncs: d.options.concurrentSyncs,
		DeletionSettle:  d.options.deletionSettle,
		ResyncPeriod:    d.options.resyncPeriod,
		ListDeadline:    d.options.listDeadline,
		Subject:         d.subject.Load,

		ConfigurationVersions: d.configurationVersions,
	})
	return err
}

// serve runs all parts. When ctx is done, it first stops leading gracefully, and only
// then stops the rest.
func (d *daemon) serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	group, parts := errgroup.WithContext(parts)
	group.Go(func() error { return d.serveMetrics(parts) })
	group.Go(func() error { return d.serveProbes(parts) })
	group.Go(func() error { return d.serveProfiles(parts) })
	group.Go(func() error { return d.controller.Run(parts) })
	group.Go(func() error { return d.loadConfiguration(parts) })
	group.Go(func() error {
		stop(d.followCredentials(parts, d.credentials))
		return nil
	})
	group.Go(func() error {
		defer cancel()
		return d.lead(ctx, parts)
	})
	err := d.wait(ctx, group, parts)
	if cause := context.Cause(ctx); errors.Is(cause, errCredentialsChanged) {
		return cause
	}
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		d.logger.Info("stopped")
		return nil
	}
	return err
}
