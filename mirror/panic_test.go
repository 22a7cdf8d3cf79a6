package mirror

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/queue"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestPanic: a sync that panics fails, says where, repeats no part of an object, and is retried. The
// proof of a deletion panics here.
func TestPanic(t *testing.T) {
	const secret = "a part of a Secret"
	s := newAPIServer(t)
	s.list(render.WorksResource, sample.Work(sample.Asking("1", "m1"), "m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	core, logged := observer.New(zapcore.WarnLevel)
	c.failures = zap.New(core)
	panics := true
	c.currency.versions = func(context.Context) (taken, live string, err error) {
		if panics {
			panic(secret)
		}
		return "", "", nil
	}
	q := queue.New("mirror", c.memory.IsFresh, 2)
	defer q.ShutDown()
	q.Add(sample.Page)
	if !c.processNext(t.Context(), q) || q.NumRequeues(sample.Page) != 1 || len(s.sent()) != 0 {
		t.Fatalf("%d retries, sent %q", q.NumRequeues(sample.Page), s.sent())
	}
	fields := logged.All()[0].ContextMap()
	if stack, _ := fields["stack"].(string); !strings.Contains(stack, "TestPanic") || strings.Contains(stack, secret) || strings.Contains(fields["error"].(string), secret) {
		t.Errorf("logged %v", fields)
	}
	panics = false
	if !c.processNext(t.Context(), q) || q.NumRequeues(sample.Page) != 0 || len(s.sent()) != 1 {
		t.Errorf("%d retries, sent %q", q.NumRequeues(sample.Page), s.sent())
	}
}

// TestPanicOfSweep: as much for the sweep, which looks at all objects.
func TestPanicOfSweep(t *testing.T) {
	s := newAPIServer(t)
	s.list(configMaps, sample.Asking("1", "m1"))
	c := newControllerOf(t, s, configured("", "", ""), newFakeClock())
	core, logged := observer.New(zapcore.WarnLevel)
	c.failures = zap.New(core)
	q := leading(t, c)
	remembered := c.memory
	c.memory = nil
	c.sweepOnce(t.Context(), q)
	c.memory = remembered
	if n := logged.FilterMessage("the sweep cannot check an object").Len(); n != 1 {
		t.Errorf("%d objects are reported", n)
	}
}

// TestPanicOfStatus: as much for the sync of a status.
func TestPanicOfStatus(t *testing.T) {
	server, clock := newAPIServer(t), newFakeClock()
	server.list(widgets, gadgetObject("m1"))
	server.list(render.WorksResource, sample.Work(gadgetObject("m1"), "m1", reporting("Ready")))
	s := newStatuses(newControllerOf(t, server, aggregating, clock))
	defer s.queue.ShutDown()
	memory := s.memory
	s.memory = nil
	s.queue.Add(gadget)
	if !s.processNext(t.Context()) || s.queue.NumRequeues(gadget) != 1 {
		t.Fatalf("%d retries", s.queue.NumRequeues(gadget))
	}
	s.memory = memory
	if !s.processNext(t.Context()) || s.queue.NumRequeues(gadget) != 0 || len(server.writes) != 1 {
		t.Errorf("%d retries, wrote %v", s.queue.NumRequeues(gadget), server.writes)
	}
}
