package daemon

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

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

// parts run side by side in the process. If one fails, all end.
type parts struct {
	// others run until ctx is done.
	others []func(ctx context.Context) error
	// follow returns why this process must end and be started again; nil when ctx is done.
	follow func(ctx context.Context) error
	// lead leads until leading is done, and then ends gracefully; when running is done, it
	// ends at once.
	lead   func(leading, running context.Context) error
	logger *zap.Logger
}

// run runs the parts until signalled is done, or there is a reason to end. It first stops
// leading gracefully, and only then stops the rest. It returns the first reason to end; nil
// if that was the signal.
func (p parts) run(signalled context.Context) error {
	leading, stop := context.WithCancelCause(signalled)
	defer stop(nil)
	all, end := context.WithCancelCause(context.WithoutCancel(signalled))
	defer end(nil)
	group, running := errgroup.WithContext(all)
	for _, part := range p.others {
		group.Go(func() error { return part(running) })
	}
	group.Go(func() error {
		if err := p.follow(running); err != nil {
			p.logger.Info("stopping", zap.Error(err))
			stop(err)
		}
		return nil
	})
	group.Go(func() error {
		err := p.lead(leading, running)
		end(err)
		return err
	})
	err := p.wait(leading, running, group)
	switch cause := context.Cause(leading); {
	case cause == nil: // a part has failed
		return err
	case signalled.Err() == nil:
		return cause
	case err != nil && !errors.Is(err, context.Canceled):
		return err
	}
	p.logger.Info("stopped")
	return nil
}

// wait returns when all parts have ended, or when they have had enough time to. It returns
// the first error.
func (p parts) wait(leading, running context.Context, group *errgroup.Group) error {
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	ending, stopping := leading.Done(), running.Done()
	var shutdown, last <-chan time.Time
	for {
		select {
		case err := <-ended:
			return err
		case <-ending:
			ending, shutdown = nil, time.After(shutdownTimeout)
			continue
		case <-stopping:
			stopping, last = nil, time.After(partsTimeout)
			continue
		case <-shutdown:
		case <-last:
		}
		p.logger.Warn("timed out waiting for all parts to stop: exiting without them")
		return context.Cause(running)
	}
}
