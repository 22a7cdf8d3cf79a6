package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/watch"
)

const (
	statusPath = "/api/v1/namespaces/karmada-system/configmaps/karmada-mirror-status"
	leasePath  = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/karmada-mirror"
)

// saying returns the ConfigMap in which a daemon says what it does.
func saying(s *daemon.Status) map[string]any {
	text, _ := yaml.Marshal(s)
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "karmada-mirror-status", "namespace": "karmada-system"}, "data": map[string]any{"status": string(text)}}
}

// leaseOf returns a Lease that was last renewed some time ago.
func leaseOf(holder string, age time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Name: "karmada-mirror", Namespace: "karmada-system"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-age)))},
	}
}

// TestInForce: commands decide by the configuration in force, and say in a line where that is not the one in the ConfigMap, where no
// replica leads, and what the daemon cannot watch of what they are about.
func TestInForce(t *testing.T) {
	const mirrors, mistaken, none = configHead + "resources: [{resource: configmaps}]\n", configHead + "resorces: []\n", configHead + "resources: []\n"
	failing := []daemon.ResourceStatus{{Resource: "configmaps", State: watch.Syncing, Since: ptr.To(metav1.Now()), Reason: "403 Forbidden (configmaps)"}}
	for name, c := range map[string]struct {
		stored, inForce string
		change          func(*daemon.Status, map[string]any)
		// warns are in the warnings, and isMirrored whether the page is mirrored by what is in force.
		warns      []string
		isMirrored bool
	}{
		"AsStored": {mirrors, mirrors, nil, nil, true},
		"Mistaken": {mistaken, mirrors, nil, []string{`unknown field "resorces"`, "The configuration of 2026-01-01T00:00:00Z stays in force, and is used here."}, true},
		"NotTaken": {mirrors, none, nil, []string{"the daemon has not put the ConfigMap of its configuration into force as it is now"}, false},
		"Rejected": {none, mirrors, func(s *daemon.Status, _ map[string]any) {
			s.Rejected = &daemon.Rejection{Hash: daemon.HashOf(config.Parts{config.Key: none}), Message: "no such field"}
		}, []string{"the daemon, v1, rejects its configuration: no such field"}, true},
		"TooLong": {none, mirrors, func(s *daemon.Status, _ map[string]any) { s.Configuration.Parts = nil }, []string{"has not put the ConfigMap"}, false},
		"NotLed":  {none, mirrors, func(s *daemon.Status, paths map[string]any) { s.Resources, paths[leasePath] = failing, leaseOf("", 0) }, []string{"no replica of karmada-mirror leads, so nothing is written: the last leader has released the Lease"}, false},
		"Stopped": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { paths[leasePath] = leaseOf("one", time.Hour) }, []string{"one last renewed the Lease 1h0m0s ago, by the clock here"}, true},
		"ClockBack": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) {
			paths[leasePath] = &answers{leaseOf("one", time.Hour), leaseOf("one", time.Hour-2*time.Second)}
		}, nil, true},
		"NoLease": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { delete(paths, leasePath) }, []string{"Lease karmada-system/karmada-mirror is missing"}, true},
		"MayNotReadLease": {none, mirrors, func(_ *daemon.Status, paths map[string]any) {
			paths[leasePath] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}, []string{"has not put the ConfigMap"}, true},
		"Unwatched": {mirrors, mirrors, func(s *daemon.Status, _ map[string]any) { s.Resources = failing }, []string{"the daemon cannot watch configmaps, so that it does not act on changes: 403 Forbidden (configmaps)"}, true},
		"Undecodable": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) {
			paths[statusPath].(map[string]any)["data"] = map[string]any{"status": "a: ["}
		}, nil, true},
		"Empty": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { delete(paths[statusPath].(map[string]any), "data") }, nil, true},
		"MayNotReadIt": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) {
			paths[statusPath] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}, nil, true},
		"Older": {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { delete(paths, statusPath) }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := config.Parts{config.Key: c.inForce}
			s := &daemon.Status{Version: "v1", Leader: "one", Lease: "karmada-system/karmada-mirror",
				Configuration: daemon.Configuration{Hash: daemon.HashOf(parts), Parts: parts, Since: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}}
			paths := server()
			paths[configMapPath].(map[string]any)["data"] = map[string]any{config.Key: c.stored}
			paths[leasePath], paths[statusPath] = leaseOf("one", time.Second), map[string]any{}
			if c.change != nil {
				c.change(s, paths)
			}
			if status, ok := paths[statusPath].(map[string]any); ok && len(status) == 0 {
				paths[statusPath] = saying(s)
			}
			output, err := execute("explain", "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())
			output = told(output, err)
			for _, want := range c.warns {
				if !strings.Contains(output, want) {
					t.Errorf("%q is missing:\n%s", want, output)
				}
			}
			if warned := strings.Count(output, "warning: "); warned != min(len(c.warns), 1) {
				t.Errorf("it warns %d times:\n%s", warned, output)
			}
			if isMirrored := strings.Contains(output, "✓ its resource is in the configuration"); isMirrored != c.isMirrored {
				t.Errorf("it is mirrored: %t:\n%s", isMirrored, output)
			}
		})
	}
}

// TestUnwatchedElsewhere: what the daemon cannot watch is said only where it matters.
func TestUnwatchedElsewhere(t *testing.T) {
	parts := config.Parts{config.Key: configHead + "resources: [{resource: configmaps}, {resource: secrets}]\n"}
	for resource, want := range map[string]string{"secrets": "", "works.work.karmada.io": "the daemon cannot watch works.work.karmada.io"} {
		paths := server()
		paths[configMapPath].(map[string]any)["data"] = map[string]any{config.Key: parts[config.Key]}
		paths[leasePath] = leaseOf("one", 0)
		paths[statusPath] = saying(&daemon.Status{Lease: "karmada-system/karmada-mirror", Configuration: daemon.Configuration{Hash: daemon.HashOf(parts), Parts: parts},
			Resources: []daemon.ResourceStatus{{Resource: resource, State: watch.Degraded, Reason: "503"}}})
		for _, command := range []string{"explain", "status", "diff", "wait --timeout 0"} {
			output, err := execute(append(strings.Fields(command), "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
			if output = told(output, err); !strings.Contains(output, want) || want == "" && strings.Contains(output, "warning: ") {
				t.Errorf("%s, with %s: %s", command, resource, output)
			}
		}
	}
}
