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
	options    *Options
	build      metrics.Build
	logger     *zap.Logger
	rest       *rest.Config
	dynamic    dynamic.Interface
	recorder   record.EventRecorder
	controller *mirror.Controller
	// subject is the ConfigMap as last seen; nil before that.
	subject  atomic.Pointer[corev1.ObjectReference]
	registry *prometheus.Registry
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
	if d.protection, err = newProtection(o.secure, UserAgent(b), logger); err != nil {
		return err
	}
	broadcaster, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	if err := d.newController(metrics.New(d.registry, b)); err != nil {
		return err
	}
	return d.serve(ctx)
}

// partsTimeout is how long the parts may take to stop. While the API server does not
// answer, client-go cannot be interrupted everywhere.
const partsTimeout = 15 * time.Second

// wait returns when all parts have ended, or partsTimeout after they should have.
func (d *daemon) wait(group *errgroup.Group, parts context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-parts.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(partsTimeout):
		d.logger.Warn("timed out waiting for all parts to stop: exiting without them")
		return context.Cause(parts)
	}
}

// connect creates the clients. Events have a client of their own, see events.go, and so
// has the Lease, see leader.go.
func (d *daemon) connect(ctx context.Context) (record.EventBroadcaster, error) {
	var err error
	if d.rest, err = d.options.connection(UserAgent(d.build)); err != nil {
		return nil, err
	}
	if d.dynamic, err = watch.NewClient(d.rest); err != nil {
		return nil, fmt.Errorf("cannot make a dynamic client: %w", err)
	}
	var broadcaster record.EventBroadcaster
	if broadcaster, d.recorder, err = newEvents(ctx, d.rest); err != nil {
		return nil, err
	}
	return broadcaster, nil
}

func (d *daemon) newController(m *metrics.Metrics) error {
	client, err := kubernetes.NewForConfig(d.rest)
	if err != nil {
		return fmt.Errorf("cannot make a client for discovery: %w", err)
	}
	d.controller, err = mirror.New(mirror.Options{
		REST:            d.rest,
		Dynamic:         d.dynamic,
		Resolver:        watch.Discovery{Client: client.Discovery()},
		Recorder:        d.recorder,
		Metrics:         m,
		Logger:          d.logger,
		Clock:           clock.RealClock{},
		ConcurrentSyncs: d.options.concurrentSyncs,
		DeletionSettle:  d.options.deletionSettle,
		ResyncPeriod:    d.options.resyncPeriod,
		ListDeadline:    d.options.listDeadline,
		Subject:         d.subject.Load,
	})
	return err
}

// serve runs all parts. When ctx is done, it first stops leading gracefully, and only
// then stops the rest.
func (d *daemon) serve(ctx context.Context) error {
	parts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	group, parts := errgroup.WithContext(parts)
	group.Go(func() error { return d.serveMetrics(parts) })
	group.Go(func() error { return d.serveProbes(parts) })
	group.Go(func() error { return d.serveProfiles(parts) })
	group.Go(func() error { return d.controller.Run(parts) })
	group.Go(func() error { return d.loadConfiguration(parts) })
	group.Go(func() error {
		defer cancel()
		return d.lead(ctx, parts)
	})
	err := d.wait(group, parts)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		d.logger.Info("stopped")
		return nil
	}
	return err
}
