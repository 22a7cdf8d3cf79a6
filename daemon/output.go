package daemon

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxPending is how many bytes wait for a reader at most; more are dropped.
	maxPending = 4 << 20
	// syncTimeout is how long Sync waits: the process must end even if no one reads.
	syncTimeout = time.Second
)

var errNotRead = errors.New("no one reads standard error")

// Output writes to standard error without ever blocking its callers: if the reader of a pipe
// stops, so would every worker that logs. What the reader does not take in time is dropped.
type Output struct {
	out     io.Writer
	dropped atomic.Int64 // writes, which are lines of the log

	mu      sync.Mutex
	pending []byte
	// drained is closed when all is written; nil if nothing is being written.
	drained chan struct{}
}

// NewOutput creates an Output.
func NewOutput(out io.Writer) *Output { return &Output{out: out} }

// Write implements io.Writer. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending)+len(p) > maxPending {
		o.dropped.Add(1)
		return len(p), nil
	}
	o.pending = append(o.pending, p...)
	if o.drained == nil {
		o.drained = make(chan struct{})
		go o.drain()
	}
	return len(p), nil
}

// drain writes until nothing is pending.
func (o *Output) drain() {
	for {
		o.mu.Lock()
		batch := o.pending
		o.pending = nil
		if len(batch) == 0 {
			close(o.drained)
			o.drained = nil
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		_, _ = o.out.Write(batch) // there is nowhere to report a failure
	}
}

// Sync waits until everything is written, but only for a moment.
func (o *Output) Sync() error {
	o.mu.Lock()
	drained := o.drained
	o.mu.Unlock()
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-time.After(syncTimeout):
		return errNotRead
	}
}
