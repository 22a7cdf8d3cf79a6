package fault

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestMain(m *testing.M) {
	// client-go's connection pool belongs to the process.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"))
}

const (
	listPath  = "/api/v1/namespaces/shop/configmaps"
	watchPath = listPath + "?watch=1&resourceVersion=5"
)

func eventOf(kind, name string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q}}}`, kind, name)
}

// upstream imitates the parts of an API server that the proxy looks at.
func upstream(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.URL.Query()
		switch {
		case r.Method != http.MethodGet:
			fmt.Fprintf(w, `{"method":%q}`, r.Method)
		case query.Get("watch") != "":
			fmt.Fprintln(w, strings.Join([]string{eventOf("MODIFIED", "a"), eventOf("BOOKMARK", "")}, "\n"))
		default:
			fmt.Fprint(w, `{"items":[{"n":1},{"n":2}],"metadata":{"continue":"x","resourceVersion":"7"}}`)
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["c"] = &clientcmdapi.AuthInfo{Token: "t"}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	config.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func startProxy(t *testing.T) (*Proxy, *http.Client, string) {
	t.Helper()
	p, err := Start(Options{Kubeconfig: upstream(t), Dir: t.TempDir(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("cannot close the proxy: %v", err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return p, client, config.Host
}

func get(ctx context.Context, client *http.Client, url string) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, strings.TrimSpace(string(body)), err
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		fault  Fault
		path   string
		want   string // lines, joined by a space; empty if broken off
		code   int
	}{
		"None":        {"requests that no rule matches are unchanged", nil, listPath, `{"items":[{"n":1},{"n":2}],"metadata":{"continue":"x","resourceVersion":"7"}}`, 200},
		"Delay":       {"late, and whole", Delay(time.Millisecond), watchPath, eventOf("MODIFIED", "a") + " " + eventOf("BOOKMARK", ""), 200},
		"Reset":       {"no answer", Reset(), listPath, "", 0},
		"Error":       {"a status as the API server gives it", Refuse(apierrors.NewConflict(schema.GroupResource{}, "x", io.EOF)), listPath, "", 409},
		"TooMany":     {"with the time to wait", Refuse(apierrors.NewTooManyRequests("busy", 3)), listPath, "", 429},
		"DelayAnswer": {"done at once, answered late", DelayAnswer(time.Millisecond), listPath, `{"items":[{"n":1},{"n":2}],"metadata":{"continue":"x","resourceVersion":"7"}}`, 200},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, client, host := startProxy(t)
			if tc.fault != nil {
				rule := p.Inject(Match{Resource: "configmaps", Namespace: "shop"}, tc.fault)
				defer func() {
					if rule.Hits() != 1 {
						t.Errorf("the rule has hit %d requests", rule.Hits())
					}
				}()
			}
			p.Inject(Match{Resource: "secrets"}, Reset())
			response, body, err := get(t.Context(), client, host+tc.path)
			if tc.code == 0 {
				if err == nil {
					t.Errorf("%s: there is an answer", tc.reason)
				}
				return
			}
			if err != nil || response.StatusCode != tc.code {
				t.Fatalf("%s: %v, %v", tc.reason, response, err)
			}
			if got := strings.ReplaceAll(body, "\n", " "); tc.want != "" && got != tc.want {
				t.Errorf("%s: -want +got:\n%s", tc.reason, cmp.Diff(tc.want, got))
			}
			if tc.code == 429 && response.Header.Get("Retry-After") != "3" {
				t.Errorf("%s: it is %q", tc.reason, response.Header.Get("Retry-After"))
			}
		})
	}
}

// TestDelayAnswer checks that the API server acts before the client hears about it.
func TestDelayAnswer(t *testing.T) {
	p, client, host := startProxy(t)
	done := make(chan bool, 2)
	p.Witness(func(w Write) bool { done <- w.Done; return true }, "configmaps")
	p.Inject(Match{Verb: "create"}, DelayAnswer(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, host+listPath, strings.NewReader("{}"))
		if err == nil {
			_, err = client.Do(request)
		}
		ended <- err
	}()
	if before, after := <-done, <-done; before || !after {
		t.Errorf("it was done: %t, then %t", before, after)
	}
	cancel()
	if <-ended == nil {
		t.Error("it was answered at once")
	}
}

// TestSilence checks that neither a dropped request nor a frozen connection gets an answer
// until the fault is over.
func TestSilence(t *testing.T) {
	p, client, host := startProxy(t)
	if _, _, err := get(t.Context(), client, host+listPath); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	ask := func() {
		go func() {
			_, _, err := get(t.Context(), client, host+listPath)
			answered <- err
		}()
	}
	wantSilence := func(what string) {
		t.Helper()
		select {
		case err := <-answered:
			t.Fatalf("%s: there is an answer: %v", what, err)
		case <-time.After(50 * time.Millisecond): // no event signals the absence of an answer
		}
	}
	rule := p.Inject(Match{}, Drop())
	ask()
	wantSilence("dropped")
	rule.Remove()
	if err := <-answered; err == nil {
		t.Error("a dropped request was answered")
	}

	p.Strand()
	ask()
	wantSilence("stranded")
	client.CloseIdleConnections()
	p.Cut()
	if err := <-answered; err == nil {
		t.Error("a request on a stranded connection was answered")
	}

	p.Freeze()
	ask()
	wantSilence("frozen")
	p.Thaw()
	if err := <-answered; err != nil {
		t.Errorf("after thawing: %v", err)
	}
	p.Cut()
	_, _, err := get(t.Context(), client, host+listPath)
	for range 10 { // until the client has noticed
		if err != nil {
			_, _, err = get(t.Context(), client, host+listPath)
		}
	}
	if err != nil {
		t.Errorf("after cutting, with a new connection: %v", err)
	}
}

// TestShare checks that the same seed makes the same choices.
func TestShare(t *testing.T) {
	run := func() (hits []int) {
		p, client, host := startProxy(t)
		rule := p.Inject(Match{Share: 0.3}, Refuse(apierrors.NewBadRequest("no")))
		for range 50 {
			if _, _, err := get(t.Context(), client, host+listPath); err != nil {
				t.Fatal(err)
			}
			hits = append(hits, rule.Hits())
		}
		return hits
	}
	first := run()
	if last := first[len(first)-1]; last < 5 || last > 25 {
		t.Errorf("of 50 requests %d were hit", last)
	}
	if diff := cmp.Diff(first, run()); diff != "" {
		t.Errorf("another run made other choices:\n%s", diff)
	}
}

func TestWitness(t *testing.T) {
	p, client, host := startProxy(t)
	var seen []Write
	p.Witness(func(w Write) bool {
		seen = append(seen, w)
		return w.Number != 2 || !w.Done
	}, "configmaps")
	var answers []bool
	for _, path := range []string{listPath, listPath + "/a", "/api/v1/namespaces/shop/secrets"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, host+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if path == listPath {
			request.Method = http.MethodPost
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		answers = append(answers, err == nil)
	}
	create := Write{Number: 1, Verb: "create", Resource: "configmaps", Namespace: "shop"}
	remove := Write{Number: 2, Verb: "delete", Resource: "configmaps", Namespace: "shop", Name: "a"}
	want := []Write{create, done(create), remove, done(remove)}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("writes: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, false, true}, answers); diff != "" {
		t.Errorf("answered: -want +got:\n%s", diff)
	}
}

func done(w Write) Write {
	w.Done = true
	return w
}
