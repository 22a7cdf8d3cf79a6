package e2e

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/karmada-target/karmada-mirror/cli"
)

// TestNothingIsLeft runs the daemon inside the test, through a life with a
// change of its configuration, and finds all its goroutines ended.
func TestNothingIsLeft(t *testing.T) {
	ns := newNamespace(t)
	configure(t, resources("configmaps", "services"))
	ignore := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root := cli.New()
	root.SetArgs([]string{"run", "--kubeconfig", env.kubeconfig, "--log-level", "error",
		"--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()

	create(t, configMaps, configMap(ns, "page", both, "one"))
	wantInMembers(t, ns, "page", "one", push, pull)
	configure(t, resources("configmaps"))
	change(t, configMaps, ns, "page", setField("two", "data", "key"))
	wantInMembers(t, ns, "page", "two", push, pull)
	remove(t, configMaps, ns, "page")
	wantGone(t, configMaps, ns, "page", push, pull)

	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the daemon did not end within 20 s")
	}
	// The tests' own connections come and go; the daemon's must be gone.
	goleak.VerifyNone(t, ignore,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"))
}
