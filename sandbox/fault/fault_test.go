package fault

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestMain(m *testing.M) {
	// client-go's connection pool belongs to the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"))
}

// TestFaults makes a request during each fault: whether it reaches the API server, and what the client gets.
func TestFaults(t *testing.T) {
	const late = 200 * time.Millisecond
	always := func(f Fault) func(*Proxy) {
		return func(p *Proxy) { p.Inject(Match{Verb: "create", Resource: "configmaps"}, f) }
	}
	witness := func(passes func(Write) bool) func(*Proxy) {
		return func(p *Proxy) { p.Witness(passes, "configmaps") }
	}
	cases := map[string]struct {
		fault   func(*Proxy)
		reaches bool
		code    int           // 0 means no answer
		after   time.Duration // how long it takes at least
	}{
		"None":        {func(p *Proxy) { p.Inject(Match{Resource: "secrets"}, Reset()) }, true, 200, 0},
		"Delay":       {always(Delay(late)), true, 200, late},
		"DelayAnswer": {always(DelayAnswer(late)), true, 200, late},
		"Drop":        {always(Drop()), false, 0, time.Second},
		"Reset":       {always(Reset()), false, 0, 0},
		"Error":       {always(Refuse(apierrors.NewInternalError(io.EOF))), false, 500, 0},
		"TooMany":     {always(Refuse(apierrors.NewTooManyRequests("busy", 3))), false, 429, 0},
		"Before":      {witness(func(w Write) bool { return w.Done }), false, 0, 0},
		"After":       {witness(func(w Write) bool { return !w.Done }), true, 0, 0},
		"Freeze":      {(*Proxy).Freeze, false, 0, time.Second},
		"Strand":      {(*Proxy).Strand, false, 0, time.Second},
		"Cut":         {(*Proxy).Cut, true, 200, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := 0
			server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
			t.Cleanup(server.Close)
			p, post := startProxy(t, server)
			if code, err := post(); code != 200 {
				t.Fatal(code, err)
			}
			tc.fault(p)
			begun := time.Now()
			code, err := post()
			if code == 0 && tc.code != 0 { // until the client has noticed that its connection was cut
				code, err = post()
			}
			if code != tc.code || reached > 1 != tc.reaches || time.Since(begun) < tc.after || (err == nil) != (code != 0) {
				t.Errorf("the answer is %d after %s, and %d have reached the API server: %v", code, time.Since(begun), reached, err)
			}
		})
	}
}

// startProxy returns a proxy and a client that creates a ConfigMap.
func startProxy(t *testing.T, server *httptest.Server) (*Proxy, func() (code int, err error)) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: authority}
	config.AuthInfos["c"], config.Contexts["c"], config.CurrentContext = &clientcmdapi.AuthInfo{}, &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}, "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	p, err := Start(Options{Kubeconfig: path, Dir: t.TempDir(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	through, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, func() (int, error) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no answer"))
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, through.Host+"/api/v1/namespaces/shop/configmaps", nil)
		if err != nil {
			return 0, err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		return response.StatusCode, response.Body.Close()
	}
}
