package daemon

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
)

func get(handler http.Handler, path, authorization string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// TestServersServeNoMore than each is for: net/http/pprof registers with the default
// mux.
func TestServersServeNoMore(t *testing.T) {
	d := &daemon{options: &Options{}, logger: zap.NewNop(), registry: prometheus.NewRegistry()}
	servers := map[string]struct {
		handler http.Handler
		serves  string
	}{
		"metrics":  {d.metricsHandler(), "/metrics"},
		"probes":   {probesHandler(func() error { return nil }), "/livez"},
		"profiles": {profilesHandler(), "/debug/pprof/cmdline"},
	}
	for name, server := range servers {
		for other, one := range servers {
			want := http.StatusNotFound
			if other == name {
				want = http.StatusOK
			}
			if got := get(server.handler, one.serves, "").Code; got != want {
				t.Errorf("%s answers %s with %d, want %d", name, one.serves, got, want)
			}
		}
		if name != "profiles" && get(server.handler, "/debug/pprof/", "").Code != http.StatusNotFound {
			t.Errorf("%s serves profiles", name)
		}
		post := httptest.NewRecorder()
		server.handler.ServeHTTP(post, httptest.NewRequest(http.MethodPost, server.serves, nil))
		if post.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s answers a POST with %d", name, post.Code)
		}
	}
}

// TestProbesAreDiscreet: anyone may ask.
func TestProbesAreDiscreet(t *testing.T) {
	answer := get(probesHandler(func() error { return status(500, "", secret) }), "/readyz?verbose", "")
	if answer.Code != http.StatusServiceUnavailable || strings.Contains(answer.Body.String(), secret) {
		t.Errorf("got %d: %s", answer.Code, answer.Body)
	}
}

// cluster answers reviews as the API server does, and counts them.
type cluster struct {
	tokens, access atomic.Int32
	broken         atomic.Bool
	forbidden      atomic.Bool
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case c.broken.Load():
		http.Error(w, "broken", http.StatusInternalServerError)
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		c.tokens.Add(1)
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: review.Spec.Token == "good", User: authenticationv1.UserInfo{Username: "prometheus", Groups: []string{"g"}}}
		_ = json.NewEncoder(w).Encode(review)
	default:
		c.access.Add(1)
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = !c.forbidden.Load() && review.Spec.User == "prometheus" && asked != nil && *asked == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
		_ = json.NewEncoder(w).Encode(review)
	}
}

func newReviewer(t *testing.T, c *cluster) (*reviewer, *testclock.FakeClock) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, QPS: -1}
	tokens, tokensErr := authenticationclient.NewForConfig(config)
	access, accessErr := authorizationclient.NewForConfig(config)
	if err := errors.Join(tokensErr, accessErr); err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	return &reviewer{tokens.TokenReviews(), access.SubjectAccessReviews(), cache.NewLRUExpireCacheWithClock(reviewedTokens, clock), lru.New(peers), zap.NewNop()}, clock
}

func TestReviewer(t *testing.T) {
	c := &cluster{}
	r, clock := newReviewer(t, c)
	guarded := r.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	want := func(reason, authorization string, code, tokens, access int) {
		t.Helper()
		if got := get(guarded, "/metrics", authorization).Code; got != code || int(c.tokens.Load()) != tokens || int(c.access.Load()) != access {
			t.Errorf("%s: got %d after %d and %d reviews, want %d after %d and %d", reason, got, c.tokens.Load(), c.access.Load(), code, tokens, access)
		}
	}
	want("no token costs no review", "", 401, 0, 0)
	want("neither does another scheme", "Basic Z29vZDpnb29k", 401, 0, 0)
	want("or an empty token", "Bearer  ", 401, 0, 0)
	c.broken.Store(true)
	want("a review that fails opens nothing", "Bearer good", 500, 0, 0)
	c.broken.Store(false)
	want("and is not remembered", "bearer good", 200, 1, 1)
	want("a verdict is", "Bearer good", 200, 1, 1)
	want("an unknown token", "Bearer bad", 401, 2, 1)
	want("is remembered too", "Bearer bad", 401, 2, 1)
	c.forbidden.Store(true)
	clock.Step(verdictTTL - time.Second)
	want("a revoked permission lasts a while", "Bearer good", 200, 2, 1)
	clock.Step(2 * time.Second)
	want("and no longer", "Bearer good", 403, 3, 2)
	c.broken.Store(true)
	clock.Step(2 * verdictTTL)
	want("an old verdict does not stand in for a new one", "Bearer good", 500, 3, 2)
	for i := range 3 * reviewedTokens {
		r.verdicts.Add(i, 401, verdictTTL)
	}
	if n := len(r.verdicts.Keys()); n > reviewedTokens {
		t.Errorf("%d verdicts are kept", n)
	}
}

// TestReviewerBoundsPeers floods it with made-up tokens from one address.
func TestReviewerBoundsPeers(t *testing.T) {
	c := &cluster{}
	r, _ := newReviewer(t, c)
	guarded := r.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	from := func(address, token string) int {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.RemoteAddr = address
		request.Header.Set("Authorization", "Bearer "+token)
		recorder := httptest.NewRecorder()
		guarded.ServeHTTP(recorder, request)
		return recorder.Code
	}
	codes := map[int]int{}
	for i := range 10 * peerBurst {
		codes[from("10.0.0.1:"+strconv.Itoa(1024+i), "made-up-"+strconv.Itoa(i))]++
	}
	if n := int(c.tokens.Load()); n < peerBurst || n > 2*peerBurst || codes[http.StatusTooManyRequests] < 8*peerBurst {
		t.Errorf("%d reviews for one peer, answers %v", n, codes)
	}
	if code := from("10.0.0.2:1024", "good"); code != http.StatusOK {
		t.Errorf("another peer gets %d", code)
	}
	if code := from("10.0.0.1:999", "good"); code != http.StatusOK {
		t.Errorf("a known token costs no review, and gets %d", code)
	}
}

// TestCertificateReplaced has a handshake at each step of a replacement.
func TestCertificateReplaced(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certA, keyA := newPair(t, 1)
	certB, keyB := newPair(t, 2)
	write := func(file string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(certFile, certA)
	write(keyFile, keyA)
	c, err := newCertificate(certFile, keyFile, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(http.NotFoundHandler())
	server.TLSConfig, server.ErrorLog = c.config(), zap.NewStdLog(zap.NewNop())
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	defer func() { _ = server.Close(); <-ended }()
	want := func(reason string, serial int64) {
		t.Helper()
		connection, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		defer connection.Close()
		state := connection.ConnectionState()
		if got := state.PeerCertificates[0].SerialNumber.Int64(); got != serial || state.NegotiatedProtocol == "h2" {
			t.Errorf("%s: certificate %d, protocol %q", reason, got, state.NegotiatedProtocol)
		}
	}
	want("the first", 1)
	write(certFile, certB)
	want("a certificate without its key is not used", 1)
	write(keyFile, keyB)
	want("the second", 2)
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	want("without files the last one stays", 2)
	if old, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		old.Close()
		t.Error("TLS 1.1 is accepted")
	}
}

// TestHalfRequests: those who begin a request and do not end it make room for others, and no one else waits for them.
func TestHalfRequests(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(probesHandler(func() error { return nil }))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { _ = server.Close(); <-ended }()
	const halves = 2000
	var waiting []net.Conn
	for range halves {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: ")); err != nil && !isReset(err) {
			t.Fatal(err)
		}
		waiting = append(waiting, conn)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + listener.Addr().String() + "/livez")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("an honest probe: %v, %v", answer, err)
	}
	answer.Body.Close()
	isClosed := func(conn net.Conn) bool {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		return !errors.Is(err, os.ErrDeadlineExceeded)
	}
	for end := time.Now().Add(4 * time.Second); len(waiting) > maxConnections; { // they end by themselves after five
		if waiting = slices.DeleteFunc(waiting, isClosed); time.Now().After(end) {
			t.Fatalf("%d connections are open, more than %d", len(waiting), maxConnections)
		}
	}
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func newPair(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
}
