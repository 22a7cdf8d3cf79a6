package apart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSecretsEncryptedAtRest looks for a Secret, and for the Work that holds it, in the
// files of an etcd whose API servers encrypt as docs/how-to/secrets.md says.
func TestSecretsEncryptedAtRest(t *testing.T) {
	dir := t.TempDir()
	startEncrypted(t, dir)
	Configure(t, Resources(t, "secrets", "configmaps"))
	LetReadSecrets(t)
	StartDaemon(t)
	ns := NewNamespace(t)
	hidden, shown := NewCanary(), NewCanary()
	Create(t, Secrets, SecretOf(ns, "hidden", Push, hidden))
	Create(t, ConfigMaps, ConfigMap(ns, "shown", Push, string(shown)))
	WantInMembers(t, ns, "shown", string(shown), Push)
	Eventually(t, "the Secret in the member", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(Secrets).Namespace(ns).Get(ctx, "hidden", metav1.GetOptions{})
		return err
	})
	work := MustWork(t, WorkOfSecret(ns, "hidden", Push))
	if text, err := work.MarshalJSON(); err != nil || !hidden.IsIn(string(text)) {
		t.Fatalf("the Work does not hold the Secret: %v", err)
	}
	// As a control, it finds a ConfigMap, which is not encrypted.
	Eventually(t, "the ConfigMap in the files of etcd", func(context.Context) error {
		if found := filesWith(t, filepath.Join(dir, "etcd"), shown); len(found) == 0 {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
	if found := filesWith(t, filepath.Join(dir, "etcd"), hidden); len(found) > 0 {
		t.Errorf("the Secret is in plain text in %v", found)
	}
}

// startEncrypted starts a Karmada whose API servers encrypt Secrets and Works.
func startEncrypted(t *testing.T, dir string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "encryption.yaml"))
	Must(t, err)
	encrypt := []string{"--encryption-provider-config=" + file}
	// The member stores its objects in the same etcd.
	StartOwn(t, karmada.Options{
		Dir: dir, Members: Named(Push),
		Flags: map[string][]string{karmada.APIServer: encrypt, karmada.MemberAPIServer(Push): encrypt},
	})
	Must(t, Env.Install(t.Context()))
}

// filesWith lists the files below a folder that contain a canary.
func filesWith(t *testing.T, dir string, c Canary) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, form := range c.Forms() {
			if bytes.Contains(data, []byte(form)) {
				found = append(found, path+": "+form)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
