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

	"github.com/karmada-target/karmada-mirror/metrics"
)

// TestFollowCredentials replaces the CA of a kubeconfig.
func TestFollowCredentials(t *testing.T) {
	certA, _ := newPair(t, 1)
	certB, _ := newPair(t, 2)
	dir := t.TempDir()
	kubeconfig, ca := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "ca.crt")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: ca.crt}}]\nusers: [{name: u, user: {token: t}}]\n"
	write := func(file string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(kubeconfig, []byte(content))
	write(ca, certA)
	synctest.Test(t, func(t *testing.T) {
		o := &Options{kubeconfig: kubeconfig}
		c, err := o.connection("test")
		if err != nil {
			t.Fatal(err)
		}
		d := &daemon{options: o, logger: zap.NewNop(), files: c.files, build: metrics.Build{}}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- d.followCredentials(ctx, fingerprintOf(d.files)) }()
		still := func(reason string) {
			t.Helper()
			time.Sleep(3*credentialsPeriod + time.Second) // between two looks
			select {
			case err := <-ended:
				t.Fatalf("%s: %v", reason, err)
			default:
			}
		}
		still("nothing has changed")
		write(ca, []byte("half a certifi"))
		still("the CA cannot be used")
		write(ca, certA)
		still("the CA is as it was")
		if err := os.Remove(ca); err != nil {
			t.Fatal(err)
		}
		still("there is no CA")
		write(ca, certB)
		if err := <-ended; !errors.Is(err, errCredentialsChanged) {
			t.Errorf("with another CA: %v", err)
		}
		go func() { ended <- d.followCredentials(ctx, fingerprintOf(d.files)) }()
		still("the new CA is known")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("at the end: %v", err)
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
