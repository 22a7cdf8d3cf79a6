package daemon

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"
)

// certificate is a certificate and its key, in two files that may be replaced at any
// time.
type certificate struct {
	certFile, keyFile string
	logger            *zap.Logger
	// last is the last pair that was read successfully.
	last atomic.Pointer[tls.Certificate]
}

func newCertificate(certFile, keyFile string, logger *zap.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot use --tls-cert-file %q with --tls-private-key-file %q: %w", certFile, keyFile, err)
	}
	c.last.Store(&pair)
	return c, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get reads the files for each handshake: scrapers keep their connections, so handshakes
// are rare, and reading costs less than the handshake's signature. If the two files do not
// match, they are being replaced.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		c.logger.Warn("cannot read the certificate of /metrics, the last one stays in force", zap.Error(err))
		return c.last.Load(), nil
	}
	c.last.Store(&pair)
	return &pair, nil
}
