package daemon

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stalled is a pipe whose reader has stopped, until it is closed.
type stalled struct {
	resumed chan struct{}
	mu      sync.Mutex
	got     bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.resumed
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

// TestOutputNeverBlocks: who logs goes on, and what is dropped is counted.
func TestOutputNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := &stalled{resumed: make(chan struct{})}
		out := NewOutput(pipe)
		logger, err := newLogger("info", "json", out)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		logger.Info("first")
		synctest.Wait()
		line, most := strings.Repeat("x", 1<<10)+"\n", 2*maxPending/(1<<10)
		for range most {
			_, _ = out.Write([]byte(line))
		}
		if took := time.Since(began); took != 0 || out.dropped.Load() < int64(most/2) {
			t.Errorf("it took %s and dropped %d", took, out.dropped.Load())
		}
		if err := out.Sync(); err == nil || time.Since(began) != syncTimeout {
			t.Errorf("Sync has ended after %s with %v", time.Since(began), err)
		}
		close(pipe.resumed)
		_ = out.Sync()
		logger.Info("last")
		if err := out.Sync(); err != nil {
			t.Error(err)
		}
		text := pipe.got.String()
		if lines := int64(strings.Count(text, "\n")); lines != int64(most)+2-out.dropped.Load() || !strings.Contains(text, `"msg":"first"`) || !strings.HasSuffix(text, "\"msg\":\"last\"}\n") {
			t.Errorf("%d lines, %d dropped, the last is %q", lines, out.dropped.Load(), text[len(text)-100:])
		}
	})
}

// TestPartsEndWithoutReader: a signal ends a process that hangs and whose log no one reads.
func TestPartsEndWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := &stalled{resumed: make(chan struct{})}
		defer close(pipe.resumed)
		logger, err := newLogger("info", "json", NewOutput(pipe))
		if err != nil {
			t.Fatal(err)
		}
		signalled, signal := context.WithCancel(t.Context())
		p := parts{logger: logger, follow: func(context.Context) error { return nil }, lead: func(context.Context, context.Context) error {
			<-pipe.resumed
			return nil
		}}
		logger.Info("leading")
		began := time.Now()
		signal()
		if err := p.run(signalled); err != nil || time.Since(began) != shutdownTimeout {
			t.Errorf("ended after %s with %v", time.Since(began), err)
		}
	})
}
