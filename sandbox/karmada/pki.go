package karmada

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is longer than any sandbox runs.
const validity = 365 * 24 * time.Hour

// authority is a certificate authority that keeps what it issues in a folder.
// Each API server has its own, and so rejects the clients of the others.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// pair is a certificate and its key, on disk.
type pair struct{ cert, key string }

func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot create the key of authority %q: %w", name, err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name + "-ca"}, key)
	if err != nil {
		return nil, fmt.Errorf("cannot create authority %q: %w", name, err)
	}
	a := &authority{dir: dir, certificate: certificate, key: key}
	if a.pem, err = cert.EncodeCertificates(certificate); err != nil {
		return nil, fmt.Errorf("cannot encode authority %q: %w", name, err)
	}
	_, err = a.write("ca", a.pem, key)
	return a, err
}

// self is the authority's own pair.
func (a *authority) self() pair { return a.paths("ca") }

func (a *authority) paths(name string) pair {
	return pair{cert: filepath.Join(a.dir, name+".crt"), key: filepath.Join(a.dir, name+".key")}
}

// serving issues a certificate for a server on the loopback address that can
// also be reached by the given names.
func (a *authority) serving(name string, names ...string) (pair, error) {
	return a.issue(name, x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append([]string{"localhost"}, names...),
		IPAddresses: []net.IP{net.ParseIP(host)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// client issues a certificate that authenticates as the given user.
func (a *authority) client(user string, groups ...string) (pair, error) {
	return a.issue(user, x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) issue(name string, template x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("cannot create the key of certificate %q: %w", name, err)
	}
	template.NotBefore = a.certificate.NotBefore
	template.NotAfter = time.Now().Add(validity)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("cannot sign certificate %q: %w", name, err)
	}
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("cannot parse certificate %q: %w", name, err)
	}
	encoded, err := cert.EncodeCertificates(issued)
	if err != nil {
		return pair{}, fmt.Errorf("cannot encode certificate %q: %w", name, err)
	}
	return a.write(name, encoded, key)
}

func (a *authority) write(name string, certificate []byte, key crypto.Signer) (pair, error) {
	p := a.paths(name)
	if err := cert.WriteCert(p.cert, certificate); err != nil {
		return pair{}, fmt.Errorf("cannot write certificate %q: %w", name, err)
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pair{}, fmt.Errorf("cannot encode key %q: %w", name, err)
	}
	if err := os.WriteFile(p.key, encoded, 0o600); err != nil {
		return pair{}, fmt.Errorf("cannot write key %q: %w", name, err)
	}
	return p, nil
}
