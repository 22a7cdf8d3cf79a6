package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestSecretsEncryptedAtRest looks for a Secret, and for the Work that holds it, in the
// files of an etcd whose API servers encrypt as docs/how-to/secrets.md says.
func TestSecretsEncryptedAtRest(t *testing.T) {
	dir := t.TempDir()
	startEncrypted(t, dir)
	configure(t, resources("secrets", "configmaps"))
	letReadSecrets(t)
	startDaemon(t)
	ns := newNamespace(t)
	hidden, shown := newCanary(), newCanary()
	create(t, secrets, secretOf(ns, "hidden", push, hidden))
	create(t, configMaps, configMap(ns, "shown", push, string(shown)))
	wantInMembers(t, ns, "shown", string(shown), push)
	eventually(t, "the Secret in the member", func(ctx context.Context) error {
		_, err := env.members[push].Resource(secrets).Namespace(ns).Get(ctx, "hidden", metav1.GetOptions{})
		return err
	})
	work := mustWork(t, workOfSecret(ns, "hidden", push))
	if text, err := work.MarshalJSON(); err != nil || !hidden.isIn(string(text)) {
		t.Fatalf("the Work does not hold the Secret: %v", err)
	}
	// The control: what is not encrypted is found.
	eventually(t, "the ConfigMap in the files of etcd", func(context.Context) error {
		if found := filesWith(t, filepath.Join(dir, "etcd"), shown); len(found) == 0 {
			return fmt.Errorf("it is not there")
		}
		return nil
	})
	if found := filesWith(t, filepath.Join(dir, "etcd"), hidden); len(found) > 0 {
		t.Errorf("the Secret stands in the clear in %v", found)
	}
}

// startEncrypted puts a Karmada in the place of the shared one, whose API servers
// encrypt Secrets and Works.
func startEncrypted(t *testing.T, dir string) {
	t.Helper()
	shared := env
	t.Cleanup(func() { env = shared })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	hyperkarmada, err := shared.builder.Hyperkarmada(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs(filepath.Join("testdata", "encryption.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	encrypt := []string{"--encryption-provider-config=" + file}
	running, err := karmada.Start(ctx, karmada.Options{
		Dir:      dir,
		Programs: karmada.Programs{Hyperkarmada: hyperkarmada, Karmada: shared.builder.KarmadaSources()},
		Progress: os.Stderr,
		Members:  []karmada.Member{{Name: push, Mode: clusterv1alpha1.Push}},
		// The member keeps its objects in the same etcd.
		Flags: map[string][]string{karmada.APIServer: encrypt, karmada.MemberAPIServer(push): encrypt},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	env = &environment{Karmada: running, daemon: shared.daemon, builder: shared.builder, members: map[string]dynamic.Interface{push: nil}, rows: shared.rows}
	if err := env.install(ctx); err != nil {
		t.Fatal(err)
	}
}

// filesWith are the files below a folder in which a canary stands.
func filesWith(t *testing.T, dir string, c canary) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, form := range c.forms() {
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

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// letReadSecrets gives the daemon the right that docs/how-to/secrets.md gives it.
func letReadSecrets(t *testing.T) {
	t.Helper()
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: karmada-mirror-secrets
  labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
`
	if err := karmada.Apply(t.Context(), env.Config(), []byte(role)); err != nil {
		t.Fatal(err)
	}
	client := env.client
	t.Cleanup(func() {
		_ = client.RbacV1().ClusterRoles().Delete(context.Background(), "karmada-mirror-secrets", metav1.DeleteOptions{})
	})
}
