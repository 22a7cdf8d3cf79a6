// Package proxy stands between a client and an API server, and fails on request: what
// simulation/fault does to requests, and what only real connections can suffer.
package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/karmada-target/karmada-mirror/simulation/fault"
)

const host = "127.0.0.1"

// Proxy forwards requests, with the client's own credentials.
type Proxy struct {
	// Kubeconfig is the path of a kubeconfig that goes through the proxy.
	Kubeconfig string
	// Faults are what happens to requests.
	Faults *fault.Layer

	listener    *listener
	server      *http.Server
	served      chan error
	certificate atomic.Pointer[tls.Certificate]
}

// Start starts a Proxy on a free loopback port, for the client of a kubeconfig. The proxy's own is
// in dir.
func Start(kubeconfig, dir string) (*Proxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cannot read kubeconfig %q: %w", kubeconfig, err)
	}
	upstream, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot parse server %q: %w", config.Host, err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot create a transport: %w", err)
	}
	bare, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	p := &Proxy{Kubeconfig: filepath.Join(dir, "proxy.kubeconfig"), Faults: fault.New(whole{transport}, 1), listener: newListener(bare), served: make(chan error, 1)}
	authority, err := p.Reissue()
	if err == nil {
		err = p.writeKubeconfig(kubeconfig, authority)
	}
	if err != nil {
		return nil, errors.Join(err, bare.Close())
	}
	quiet := log.New(io.Discard, "", 0)
	p.server = &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
			Transport:     p.Faults,
			FlushInterval: -1,
			ErrorLog:      quiet,
			ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		},
		ErrorLog:  quiet,
		TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.certificate.Load(), nil }},
	}
	go func() { p.served <- p.server.ServeTLS(p.listener, "", "") }()
	return p, nil
}

// whole reads an answer at once, as the Layer expects, unless it is a watch.
type whole struct{ http.RoundTripper }

func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(r)
	if err != nil || r.URL.Query().Has("watch") {
		return response, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	return response, nil
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

// writeKubeconfig copies the client's kubeconfig and replaces the server.
func (p *Proxy) writeKubeconfig(path string, authority []byte) error {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return fmt.Errorf("cannot read kubeconfig %q: %w", path, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + p.listener.Addr().String()
		cluster.CertificateAuthority, cluster.CertificateAuthorityData = "", authority
	}
	if err := clientcmd.WriteToFile(*config, p.Kubeconfig); err != nil {
		return fmt.Errorf("cannot write kubeconfig %q: %w", p.Kubeconfig, err)
	}
	return nil
}

// Close ends all requests and returns when the proxy has stopped.
func (p *Proxy) Close() error {
	p.listener.thaw()
	p.Faults.Cut()
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

// Cut resets all of the client's connections.
func (p *Proxy) Cut() { p.listener.cut() }
