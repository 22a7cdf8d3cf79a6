package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/render"
)

// warned returns the Events of a namespace: a warning of some time ago.
func warned(reason, message string, ago time.Duration) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "EventList", "metadata": map[string]any{}, "items": []any{
		map[string]any{"reason": "UnknownCluster", "message": "an earlier one", "lastTimestamp": metav1.NewTime(time.Now().Add(-ago - time.Minute))},
		map[string]any{"reason": reason, "message": message, "lastTimestamp": metav1.NewTime(time.Now().Add(-ago))},
	}}
}

// TestSaidWhereOneLooks has what users did not find where they looked first.
func TestSaidWhereOneLooks(t *testing.T) {
	const events = "/api/v1/namespaces/shop/events"
	secret := func(paths map[string]any) {
		paths["/api/v1"] = serving("v1", namespaced("configmaps", "ConfigMap"), namespaced("secrets", "Secret"), clusterWide("namespaces", "Namespace"))
		page := paths[pagePath].(map[string]any)["metadata"].(map[string]any)
		paths["/api/v1/namespaces/shop/secrets/page"] = map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": page}
	}
	asks := func(clusters string) func(map[string]any) {
		return func(paths map[string]any) {
			secret(paths)
			paths["/api/v1/namespaces/shop"].(map[string]any)["metadata"].(map[string]any)["annotations"] = map[string]any{render.ClustersAnnotation: clusters}
		}
	}
	manifest := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(manifest, []byte("{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: shop}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change        func(paths map[string]any)
		command, want string
		not           string
	}{
		"a write is refused": {func(paths map[string]any) {
			paths[events] = warned("NotAuthorized", "may not write Works", 20*time.Second)
		}, "explain configmaps/page", "! NotAuthorized: may not write Works (by an Event, 2", "an earlier one"},
		"a write was refused": {func(paths map[string]any) {
			paths[events] = warned("NotAuthorized", "may not write Works", time.Hour)
		}, "explain configmaps/page", "Next:     create", "may not write"},
		"Events may not be read": {func(paths map[string]any) {
			paths[events] = refusal(403, metav1.StatusReasonForbidden)
		}, "explain configmaps/page", "Next:     create", "karmada-mirror: "},
		"an object of another resource":                {secret, "diff secrets/page", "Secret/shop/page: not mirrored: secrets is not among the resources", ""},
		"a manifest of another resource":               {asks("m1"), "diff -f " + manifest, "Secret/shop/other: not mirrored: secrets is not among the resources", ""},
		"a manifest that asks for nothing":             {secret, "diff -f " + manifest, "", "not mirrored"},
		"nothing of what is configured":                {func(paths map[string]any) { paths["/api/v1/namespaces/shop/configmaps"] = noConfigMaps }, "status", "Nothing of the 1 resources in the daemon's configuration is mirrored here", ""},
		"a cluster in the default that does not exist": {asks("m1,membr9"), "explain namespaces/shop", `✗ no cluster "membr9" has joined yet`, `"m1"` + " has joined"},
		"no daemon beside held deletions": {func(paths map[string]any) {
			paths[statusPath] = saying(&daemon.Status{Version: "v9", Leader: "one", Lease: "karmada-system/karmada-mirror"})
		}, "deletions list", "warning: no replica of karmada-mirror leads", ""},
		"a move to a daemon that is refused": {func(paths map[string]any) {
			paths[statusPath], paths[leasePath] = saying(&daemon.Status{Version: "v9", Leader: "one", Lease: "karmada-system/karmada-mirror", Denied: true}), leaseOf("one", time.Second)
		}, "adopt --policy shop/shop --yes", "the daemon's rights do not let it write Works, so nothing would take over", "there is no"},
		"a move to a daemon without rights": {func(paths map[string]any) {
			paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"] = map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": map[string]any{"allowed": false}}
		}, "adopt --policy shop/shop --yes", "another ServiceAccount than karmada-system/karmada-mirror", "there is no"},
		"a move by who may not ask": {func(map[string]any) {}, "adopt --policy shop/shop --yes", "there is no PropagationPolicy shop/shop", ""},
		"a value is no usage":       {func(paths map[string]any) {}, "status --member membr1", `there is no cluster "membr1"`, "Usage"},
	} {
		t.Run(name, func(t *testing.T) {
			paths := server()
			c.change(paths)
			output := told(execute(append(strings.Fields(c.command), "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...))
			if !strings.Contains(output, c.want) || c.not != "" && strings.Contains(output, c.not) {
				t.Errorf("%s does not say %q, or says %q:\n%s", c.command, c.want, c.not, output)
			}
		})
	}
}

var noConfigMaps = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}

// TestLoopbackIsNoAddress: the kubeconfig of an administrator may be for this machine.
func TestLoopbackIsNoAddress(t *testing.T) {
	for server, want := range map[string]bool{"https://127.0.0.1:6443": true, "https://localhost": true, "https://[::1]:5443": true, "https://karmada.example:5443": false, "https://10.0.0.1": false} {
		if got := isLoopback(server); got != want {
			t.Errorf("isLoopback(%q) is %t", server, got)
		}
	}
}
