package fault

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

const host = "127.0.0.1"

// Options say what a Proxy stands between.
type Options struct {
	// Kubeconfig is the path of the client's own kubeconfig.
	Kubeconfig string
	// Dir is the folder for the proxy's kubeconfig and certificate.
	Dir string
	// Seed makes the choices of rules with a Share repeatable.
	Seed uint64
}

// Proxy forwards requests until a rule says otherwise.
type Proxy struct {
	kubeconfig string
	listener   *listener
	server     *http.Server
	forward    *httputil.ReverseProxy
	paths      request.RequestInfoFactory
	served     chan error
	// certificate is what the proxy shows.
	certificate atomic.Pointer[tls.Certificate]

	mu     sync.Mutex
	random *rand.Rand
	rules  []*Rule
	// witness sees the writes to the resources witnessed.
	witness   Witness
	witnessed []string
}

// Start starts a Proxy on a free loopback port.
func Start(o Options) (*Proxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read kubeconfig %q: %w", o.Kubeconfig, err)
	}
	p := &Proxy{
		paths:  request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		random: rand.New(rand.NewPCG(o.Seed, o.Seed)),
		served: make(chan error, 1),
	}
	if err := p.newForward(config); err != nil {
		return nil, err
	}
	certificate, err := p.Reissue()
	if err != nil {
		return nil, err
	}
	bare, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	p.listener = newListener(bare)
	if err := p.writeKubeconfig(o, certificate); err != nil {
		return nil, errors.Join(err, bare.Close())
	}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.certificate.Load(), nil },
	}}
	go func() { p.served <- p.server.ServeTLS(p.listener, "", "") }()
	return p, nil
}

// Reissue gives the proxy another certificate, which is its own authority, and returns it in
// PEM. Connections that are open stay open.
func (p *Proxy) Reissue() (authority []byte, err error) {
	authority, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(authority, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use a certificate: %w", err)
	}
	p.certificate.Store(&pair)
	return authority, nil
}

func (p *Proxy) newForward(config *rest.Config) error {
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return fmt.Errorf("cannot parse server %q: %w", config.Host, err)
	}
	// Requests bring the client's own credentials, which are left alone.
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("cannot create a transport: %w", err)
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return nil
}

// writeKubeconfig copies the client's kubeconfig and replaces the server.
func (p *Proxy) writeKubeconfig(o Options, certificate []byte) error {
	config, err := clientcmd.LoadFromFile(o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read kubeconfig %q: %w", o.Kubeconfig, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + p.listener.Addr().String()
		cluster.CertificateAuthority, cluster.CertificateAuthorityData = "", certificate
	}
	p.kubeconfig = filepath.Join(o.Dir, "proxy.kubeconfig")
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		return fmt.Errorf("cannot write kubeconfig %q: %w", p.kubeconfig, err)
	}
	return nil
}

// Kubeconfig is the path of a kubeconfig that goes through the proxy.
func (p *Proxy) Kubeconfig() string { return p.kubeconfig }

// Close ends all requests and returns when the proxy has stopped.
func (p *Proxy) Close() error {
	p.mu.Lock()
	rules := p.rules
	p.mu.Unlock()
	for _, r := range rules {
		r.Remove()
	}
	p.listener.thaw()
	p.listener.cut() // also what is stranded
	err := p.server.Close()
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Connections counts the client's open connections.
func (p *Proxy) Connections() int { return p.listener.count() }

// Freeze stops all bytes on all connections, in both directions, and keeps the
// connections open.
func (p *Proxy) Freeze() { p.listener.freeze() }

// Thaw undoes Freeze; nothing is lost.
func (p *Proxy) Thaw() { p.listener.thaw() }

// Strand leaves the existing connections half open: they pass no more bytes, and
// never close. New ones work.
func (p *Proxy) Strand() { p.listener.strand() }

// Cut resets all of the client's connections.
func (p *Proxy) Cut() { p.listener.cut() }

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := p.paths.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if rule := p.choose(info); rule != nil {
		rule.fault(w, r, p.observed(info), rule.removed)
		return
	}
	p.observed(info).ServeHTTP(w, r)
}

// choose returns the first rule that matches.
func (p *Proxy) choose(info *request.RequestInfo) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if r.match.matches(info) && (r.match.Share == 0 || p.random.Float64() < r.match.Share) {
			r.hits.Add(1)
			return r
		}
	}
	return nil
}

// Inject adds a rule after the existing ones.
func (p *Proxy) Inject(m Match, f Fault) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &Rule{proxy: p, match: m, fault: f, removed: make(chan struct{})}
	p.rules = append(p.rules, r)
	return r
}

// Remove removes the rule, and ends the requests that it keeps hanging.
func (r *Rule) Remove() {
	p := r.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.rules, r); i >= 0 {
		p.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
		close(r.removed)
	}
}

// Match says which requests a rule applies to. Empty fields match everything.
type Match struct {
	// Verb is the API verb: get, list, watch, create, update, patch, delete. A streaming
	// list is a watch.
	Verb string
	// Group and Resource of the request; give Resource alone for the core group.
	Group, Resource string
	// Share is the random share of requests that are hit; 0 means all.
	Share float64
}

func (m Match) matches(info *request.RequestInfo) bool {
	return (m.Verb == "" || m.Verb == info.Verb) && (m.Group == "" || m.Group == info.APIGroup) && (m.Resource == "" || m.Resource == info.Resource)
}

// Rule is a fault in force.
type Rule struct {
	proxy   *Proxy
	match   Match
	fault   Fault
	hits    atomic.Int64
	removed chan struct{}
}

// Hits counts the requests that the rule has hit.
func (r *Rule) Hits() int { return int(r.hits.Load()) }
