package daemon

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/karmada-target/karmada-mirror/metrics"
)

// credentialFiles are the files of a replica whose metrics are protected.
type credentialFiles struct {
	t *testing.T
	// dir holds kubeconfig, which names a.crt, and tls.crt and tls.key.
	dir string
	// cert and key are two pairs.
	cert, key [2][]byte
}

func newCredentialFiles(t *testing.T) *credentialFiles {
	t.Helper()
	f := &credentialFiles{t: t, dir: t.TempDir()}
	for i := range f.cert {
		f.cert[i], f.key[i] = newPair(t, int64(i))
	}
	f.name("a.crt")
	f.write("a.crt", f.cert[0])
	f.write("tls.crt", f.cert[0])
	f.write("tls.key", f.key[0])
	return f
}

func (f *credentialFiles) path(file string) string { return filepath.Join(f.dir, file) }

func (f *credentialFiles) write(file string, data []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.path(file), data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// name makes the kubeconfig name a CA.
func (f *credentialFiles) name(ca string) {
	f.t.Helper()
	f.write("kubeconfig", []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: "+ca+"}}]\nusers: [{name: u, user: {token: t}}]\n"))
}

// daemon starts a daemon, which has read nothing yet.
func (f *credentialFiles) daemon(logger *zap.Logger) *daemon {
	kubeconfig := f.path("kubeconfig")
	o := &Options{kubeconfig: kubeconfig, secure: secureOptions{
		enabled: true, certFile: f.path("tls.crt"), keyFile: f.path("tls.key"),
		authenticationKubeconfig: kubeconfig, authorizationKubeconfig: kubeconfig,
	}}
	return newDaemon(o, metrics.Build{}, logger)
}

// TestFollowCredentials changes the files of a replica. It must end with the last step of each
// case, and not before.
func TestFollowCredentials(t *testing.T) {
	type step struct {
		what string
		do   func(*credentialFiles)
	}
	removeCA := step{"there is no CA", func(f *credentialFiles) { _ = os.Remove(f.path("a.crt")) }}
	otherCA := step{"another CA", func(f *credentialFiles) { f.write("a.crt", f.cert[1]) }}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"CA": {"client-go reads it once", []step{
			{"nothing has changed", func(*credentialFiles) {}},
			{"half a CA", func(f *credentialFiles) { f.write("a.crt", []byte("half a certifi")) }},
			{"the CA as it was", func(f *credentialFiles) { f.write("a.crt", f.cert[0]) }},
			removeCA, otherCA,
		}},
		"LateCA": {"the new kubeconfig names a file that comes later", []step{
			{"another CA is named", func(f *credentialFiles) { f.name("b.crt") }},
			{"it appears", func(f *credentialFiles) { f.write("b.crt", f.cert[1]) }},
		}},
		"MidRotation": {"what must be waited for is in files that are not compared", []step{
			{"the certificate of the metrics has no key yet", func(f *credentialFiles) {
				f.write("tls.crt", f.cert[1])
				otherCA.do(f)
			}},
			{"its key", func(f *credentialFiles) { f.write("tls.key", f.key[1]) }},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newCredentialFiles(t)
			synctest.Test(t, func(t *testing.T) {
				d := f.daemon(zap.NewNop())
				ended := follow(t, d)
				for i, step := range tc.steps {
					step.do(f)
					if got, last := ended(2*credentialsPeriod), i == len(tc.steps)-1; got != last {
						t.Fatalf("%s: %s: it ended: %v", tc.reason, step.what, got)
					}
				}
			})
		})
	}
}

// follow has a daemon follow its credentials until the test ends. The function that it returns
// waits, and reports whether the process is to end.
func follow(t *testing.T, d *daemon) (ended func(within time.Duration) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		defer close(result)
		result <- d.followCredentials(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-result; err != nil {
			t.Errorf("at the end of the test: %v", err)
		}
	})
	return func(within time.Duration) bool {
		t.Helper()
		time.Sleep(within + credentialsPeriod/2) // not while the files are read
		select {
		case err := <-result:
			if !errors.Is(err, errCredentialsChanged) {
				t.Errorf("it ended because of %v", err)
			}
			return true
		default:
			return false
		}
	}
}

// TestCredentialsChangeAtTheStart changes the CA just before the clients are made.
func TestCredentialsChangeAtTheStart(t *testing.T) {
	f := newCredentialFiles(t)
	synctest.Test(t, func(t *testing.T) {
		d := f.daemon(zap.NewNop())
		f.write("a.crt", f.cert[1])
		if err := d.connect(); err != nil {
			t.Fatal(err)
		}
		if !follow(t, d)(2 * credentialsPeriod) {
			t.Error("a change between the fingerprint and the first read is missed")
		}
	})
}

// TestLeaderEndsLast: standbys with full caches take over.
func TestLeaderEndsLast(t *testing.T) {
	f := newCredentialFiles(t)
	synctest.Test(t, func(t *testing.T) {
		d := f.daemon(zap.NewNop())
		d.leads.Store(true)
		ended := follow(t, d)
		f.write("a.crt", f.cert[1])
		if ended(leaderPatience) {
			t.Fatal("the leader ended at once")
		}
		f.write("a.crt", f.cert[0])
		if ended(3 * leaderPatience) {
			t.Fatal("the leader ended though the CA is as it was")
		}
		f.write("a.crt", f.cert[1])
		if !ended(2*leaderPatience + 2*credentialsPeriod) {
			t.Error("the leader goes on for too long")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f.write("a.crt", f.cert[0])
		d := f.daemon(zap.NewNop())
		d.leads.Store(true)
		ended := follow(t, d)
		f.write("a.crt", f.cert[1])
		ended(2 * credentialsPeriod)
		d.leads.Store(false)
		if !ended(2 * credentialsPeriod) {
			t.Error("it no longer leads, and goes on")
		}
	})
}

// TestCredentialsThatCannotBeUsed logs sparingly.
func TestCredentialsThatCannotBeUsed(t *testing.T) {
	f := newCredentialFiles(t)
	synctest.Test(t, func(t *testing.T) {
		core, logged := observer.New(zap.ErrorLevel)
		ended := follow(t, f.daemon(zap.New(core)))
		f.write("a.crt", []byte("half a certifi"))
		if ended(5*time.Minute) || logged.Len() < 4 || logged.Len() > 6 {
			t.Errorf("%d lines in five minutes", logged.Len())
		}
	})
}

func TestLifetimeOf(t *testing.T) {
	token := func(payload string) string {
		return "header." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".signature"
	}
	cases := map[string]struct {
		reason, token   string
		issued, expires time.Time
	}{
		"Bound":   {"a token of the TokenRequest API", token(`{"iat":100,"exp":200}`) + "\n", time.Unix(100, 0), time.Unix(200, 0)},
		"Undated": {"its remaining share cannot be known, and is not that since 1970", token(`{"exp":200}`), time.Time{}, time.Time{}},
		"Legacy":  {"a token of a Secret does not expire", token(`{"iss":"kubernetes/serviceaccount"}`), time.Time{}, time.Time{}},
		"Opaque":  {"a static token has no claims", "abcdef", time.Time{}, time.Time{}},
		"Invalid": {"three parts that are not a token", "a.b!.c", time.Time{}, time.Time{}},
		"None":    {"a client certificate needs no token", "", time.Time{}, time.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if issued, expires := lifetimeOf([]byte(tc.token)); issued != tc.issued || expires != tc.expires {
				t.Errorf("%s: %v to %v", tc.reason, issued, expires)
			}
		})
	}
}
