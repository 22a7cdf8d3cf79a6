package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"
)

// credentialsPeriod is how often the files are compared that client-go reads once.
const credentialsPeriod = 5 * time.Second

// errCredentialsChanged ends the process, so that it starts again with what the
// files hold now.
var errCredentialsChanged = errors.New("a kubeconfig or the CA of an API server has changed: exiting, so that the next start uses it")

// leaderPatience is the least time that the leader continues with credentials that have changed,
// and half of the most: standbys end at once, and one whose caches are full again can take over.
const leaderPatience = time.Minute

// fingerprint is the hash of each file, as far as it can be read.
type fingerprint map[string][sha256.Size]byte

func fingerprintOf(files []string) fingerprint {
	f := fingerprint{}
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil {
			f[file] = sha256.Sum256(content)
		}
	}
	return f
}

// followCredentials returns errCredentialsChanged when a kubeconfig or a CA file has changed
// and can be used. client-go reads both once: a replica with a CA that was replaced would
// fail every call for good. The leader ends last.
func (d *daemon) followCredentials(ctx context.Context) error {
	var since time.Time // when they could first be used
	patience := wait.Jitter(leaderPatience, 1)
	failing := rate.Sometimes{First: 1, Interval: time.Minute}
	err := wait.PollUntilContextCancel(ctx, credentialsPeriod, false, func(context.Context) (bool, error) {
		changed, err := d.credentialsChanged()
		if err != nil {
			failing.Do(func() {
				d.logger.Error("cannot use the changed kubeconfig or CA: continuing with the old one", zap.Error(err))
			})
		}
		switch {
		case !changed:
			since = time.Time{}
			return false, nil
		case !d.leads.Load():
			return true, nil
		case since.IsZero():
			since = time.Now()
			d.logger.Info("a kubeconfig or CA has changed: leading on, so that the standbys restart first", zap.Duration("for", patience))
		}
		return time.Since(since) >= patience, nil
	})
	if err != nil {
		return nil // ctx is done
	}
	return errCredentialsChanged
}

// credentialsChanged reports whether the files differ from what is in use, and can be used.
// Files that cannot be used yet are checked each time: the reason may be in a file that
// is not compared.
func (d *daemon) credentialsChanged() (bool, error) {
	now := fingerprintOf(d.options.files())
	if maps.Equal(now, d.credentials) {
		return false, nil
	}
	err := d.checkCredentials()
	isChecked := maps.Equal(now, fingerprintOf(d.options.files())) // they may be changing right now
	return err == nil && isChecked, err
}

// checkCredentials reads the files as the next start of the process would.
func (d *daemon) checkCredentials() error {
	c, err := d.options.connection(UserAgent(d.build))
	if err != nil {
		return err
	}
	if len(c.CAData) > 0 {
		_, err = certutil.NewPoolFromBytes(c.CAData)
	} else if c.CAFile != "" {
		_, err = certutil.NewPool(c.CAFile)
	}
	if err != nil {
		return err
	}
	_, err = newProtection(d.options.secure, UserAgent(d.build), d.logger)
	return err
}

// lifetimeOf reads a JSON Web Token without verifying it: the API server does
// that. It returns zero times for a token that does not expire, or is none, or does not
// say since when it is valid.
func lifetimeOf(token []byte) (issued, expires time.Time) {
	parts := strings.Split(string(bytes.TrimSpace(token)), ".")
	if len(parts) != 3 {
		return
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return
	}
	var claims struct { // in Unix seconds, RFC 7519
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.IssuedAt == 0 || claims.Expires == 0 {
		return
	}
	return time.Unix(claims.IssuedAt, 0), time.Unix(claims.Expires, 0)
}
