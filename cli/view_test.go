package cli

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
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
	return withText(string(text))
}

func withText(text string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "karmada-mirror-status", "namespace": "karmada-system"}, "data": map[string]any{"status": text}}
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
	const isIn, isNot, isUnknown = "✓ its resource is in the configuration", "✗ ", "✓ its resource may be in the configuration"
	const mirrors, mistaken, none = configHead + "resources: [{resource: configmaps}]\n", configHead + "resorces: []\n", configHead + "resources: []\n"
	failing := []daemon.ResourceStatus{{Resource: "configmaps", State: watch.Syncing, Since: ptr.To(metav1.Now()), Reason: "403 Forbidden (configmaps)"}}
	lease := func(holder string, age time.Duration) func(*daemon.Status, map[string]any) {
		return func(_ *daemon.Status, paths map[string]any) { paths[leasePath] = leaseOf(holder, age) }
	}
	rejects := func(parts config.Parts) func(*daemon.Status, map[string]any) {
		return func(s *daemon.Status, _ map[string]any) {
			s.Rejected = &daemon.Rejection{Hash: daemon.HashOf(parts), Message: "no such field"}
		}
	}
	path := func(path string, answer any) func(*daemon.Status, map[string]any) {
		return func(_ *daemon.Status, paths map[string]any) { paths[path] = answer }
	}
	no, away := refusal(http.StatusForbidden, metav1.StatusReasonForbidden), refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	for name, c := range map[string]struct {
		stored, inForce string
		change          func(*daemon.Status, map[string]any)
		// warns are in the warning, and step is what explain says of the configuration.
		warns []string
		step  string
	}{
		"AsStored":         {mirrors, mirrors, nil, nil, isIn},
		"Mistaken":         {mistaken, mirrors, rejects(config.Parts{config.Key: mistaken}), []string{`unknown field "resorces"`, "The configuration of 2026-01-01T00:00:00Z stays in force. Correct it: karmada-mirror validate -f FILE. This command uses it, too."}, isIn},
		"NotTaken":         {mirrors, none, nil, []string{"the daemon does not say that it has put its ConfigMap into force as it is now", "It last said so at 2026-01-01T00:00:00Z. See its log. This command goes by the ConfigMap."}, isIn},
		"MistakenNotTaken": {mistaken, mirrors, nil, []string{"the daemon does not say that it has put its ConfigMap into force as it is now"}, isUnknown},
		"Rejected":         {none, mirrors, rejects(config.Parts{config.Key: none}), []string{"the daemon, v1, rejects its configuration: no such field"}, isIn},
		"Deleted":          {mirrors, mirrors, func(s *daemon.Status, paths map[string]any) { delete(paths, configMapPath); rejects(nil)(s, paths) }, []string{"cannot read the daemon's configuration", "This command uses it, too."}, isIn},
		"TooLong": {none, mirrors, func(s *daemon.Status, paths map[string]any) {
			s.Configuration.Parts = nil
			rejects(config.Parts{config.Key: none})(s, paths)
		}, []string{"rejects its configuration", "This command does not know it."}, isUnknown},
		"Newer":     {none, configHead + "future: 1\n", rejects(config.Parts{config.Key: none}), []string{"This command does not know it."}, isUnknown},
		"NewerBoth": {configHead + "future: 1\n", configHead + "future: 1\n", nil, []string{"The daemon, v1, has it in force, and is newer than this command."}, isUnknown},
		"NotLed": {none, mirrors, func(s *daemon.Status, paths map[string]any) { s.Resources, paths[leasePath] = failing, leaseOf("", 0) },
			[]string{"no replica of karmada-mirror leads, so nothing is written: the last leader has released the Lease"}, isNot},
		"Stopped":         {mirrors, mirrors, lease("one", time.Hour), []string{"one last renewed the Lease 1h0m0s ago, by the clock here"}, isIn},
		"ClockAhead":      {mirrors, mirrors, path(leasePath, &answers{leaseOf("one", time.Hour), leaseOf("one", time.Hour-2*time.Second)}), nil, isIn},
		"ClockBehind":     {mirrors, mirrors, lease("one", -10*time.Second), nil, isIn},
		"ClockFarBehind":  {mirrors, mirrors, lease("one", -time.Minute), []string{"one has not renewed the Lease for 5s"}, isIn},
		"AnotherLeads":    {mirrors, none, lease("two", 0), nil, isIn},
		"NotLedMistaken":  {mistaken, mirrors, lease("", 0), []string{"no replica of karmada-mirror leads", "A replica that starts does not lead before there is a configuration without mistakes."}, isUnknown},
		"NoElection":      {mirrors, none, func(s *daemon.Status, _ map[string]any) { s.Lease = "" }, nil, isIn},
		"NoLease":         {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { delete(paths, leasePath) }, []string{"Lease karmada-system/karmada-mirror is missing"}, isIn},
		"MayNotReadLease": {none, mirrors, path(leasePath, no), []string{"does not say that it has put"}, isNot},
		"LeaseIsAway":     {mirrors, mirrors, path(leasePath, away), nil, isIn},
		"Unwatched":       {mirrors, mirrors, func(s *daemon.Status, _ map[string]any) { s.Resources = failing }, []string{"the daemon cannot watch configmaps, and acts on changes late or not at all: 403 Forbidden (configmaps)"}, isIn},
		"MayNotWrite":     {mirrors, mirrors, func(s *daemon.Status, _ map[string]any) { s.Denied = true }, []string{"the daemon's rights do not let it write some Works. See karmada-mirror check."}, isIn},
		"Undecodable":     {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { paths[statusPath] = withText("a: [") }, nil, isIn},
		"Emptied":         {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { paths[statusPath] = withText("") }, nil, isIn},
		"MayNotReadIt":    {mirrors, mirrors, path(statusPath, no), nil, isIn},
		"IsAway":          {mirrors, mirrors, path(statusPath, away), nil, isIn},
		"Older":           {mirrors, mirrors, func(_ *daemon.Status, paths map[string]any) { delete(paths, statusPath) }, nil, isIn},
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
			if warned := strings.Count(output, "warning: "); warned != min(len(c.warns), 1) && name != "NotLedMistaken" {
				t.Errorf("it warns %d times:\n%s", warned, output)
			}
			if !strings.Contains(output, c.step) {
				t.Errorf("%q is missing:\n%s", c.step, output)
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
		paths[statusPath] = saying(&daemon.Status{Leader: "one", Lease: "karmada-system/karmada-mirror", Configuration: daemon.Configuration{Hash: daemon.HashOf(parts), Parts: parts},
			Resources: []daemon.ResourceStatus{{Resource: resource, State: watch.Degraded, Reason: "503"}}})
		for _, command := range []string{"explain", "status", "diff", "wait --timeout 0"} {
			output, err := execute(append(strings.Fields(command), "configmaps/page", "-n", "shop", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
			if output = told(output, err); !strings.Contains(output, want) || want == "" && strings.Contains(output, "warning: ") {
				t.Errorf("%s, with %s: %s", command, resource, output)
			}
		}
	}
}

// TestPurgeInForce: what a daemon may write again is not purged, whichever daemon that is.
func TestPurgeInForce(t *testing.T) {
	const mirrors, none = configHead + "resources: [{resource: configmaps}]\n", configHead + "resources: []\n"
	says := func(name, inForce string) map[string]any {
		parts := config.Parts{config.Key: inForce}
		c := saying(&daemon.Status{Leader: "one", Lease: "karmada-system/karmada-mirror", Configuration: daemon.Configuration{Hash: daemon.HashOf(parts), Parts: parts}})
		c["metadata"].(map[string]any)["name"] = name
		return c
	}
	const folder = "/api/v1/namespaces/karmada-system/configmaps"
	away := refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	for name, c := range map[string]struct {
		own, other string
		change     func(paths map[string]any)
		flags      string
		want       string
	}{
		"InForce":      {none, none, nil, "", ""},
		"NotYet":       {mirrors, none, nil, "", "cannot delete what the daemon may write again"},
		"OtherNotYet":  {none, mirrors, nil, "", `cannot tell what another daemon mirrors, that of ConfigMap "shop"`},
		"OtherDeleted": {none, mirrors, func(paths map[string]any) { delete(paths, folder+"/shop") }, "", "cannot tell what another daemon mirrors"},
		"OtherIsGone":  {none, mirrors, func(paths map[string]any) { delete(paths, folder+"/shop"); delete(paths, folder+"/shop-status") }, "", ""},
		"OtherListed":  {none, none, func(paths map[string]any) { delete(paths, folder+"/shop-status") }, "", "cannot tell what another daemon mirrors"},
		"StatusAway":   {mirrors, none, func(paths map[string]any) { paths[statusPath] = away }, "", "cannot tell what the daemon has in force"},
		"LeaseAway":    {mirrors, none, func(paths map[string]any) { paths[leasePath] = away }, "", "cannot tell what the daemon has in force"},
		"StillLeads":   {mirrors, none, func(paths map[string]any) { delete(paths, configMapPath) }, "--uninstalled --finalizers", "one leads, and has an earlier configuration in force"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := server()
			own := paths[configMapPath].(map[string]any)
			own["data"] = map[string]any{config.Key: none}
			other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "shop", "namespace": "karmada-system"}, "data": own["data"]}
			paths[leasePath], paths[statusPath], paths[folder+"/shop"], paths[folder+"/shop-status"] = leaseOf("one", 0), says("karmada-mirror-status", c.own), other, says("shop-status", c.other)
			if c.change != nil {
				c.change(paths)
			}
			var items []any
			for _, path := range []string{configMapPath, statusPath, folder + "/shop", folder + "/shop-status"} {
				if o, ok := paths[path].(map[string]any); ok {
					items = append(items, o)
				}
			}
			if name == "OtherListed" {
				delete(paths, folder+"/shop")
			}
			paths[folder] = map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{}, "items": items}
			output, err := execute(append(strings.Fields("purge --resource configmaps --dry-run "+c.flags), "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir())...)
			if output = told(output, err); !strings.Contains(output, c.want) || (err == nil) != (c.want == "") {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

// TestWaitHasTime: what is found out about the daemon takes none of a short time-out.
func TestWaitHasTime(t *testing.T) {
	paths := server()
	delete(paths, pagePath)
	parts := config.Parts{config.Key: configHead + "resources: []\n"}
	paths[statusPath] = saying(&daemon.Status{Leader: "one", Lease: "karmada-system/karmada-mirror", Configuration: daemon.Configuration{Hash: daemon.HashOf(parts), Parts: parts}})
	paths[leasePath] = leaseOf("one", time.Hour)
	if output, err := execute("wait", "configmaps/page", "-n", "shop", "--for", "gone", "--timeout", "3s", "--kubeconfig", serve(t, paths, nil), "--cache-dir", t.TempDir()); err != nil {
		t.Errorf("it is gone: %v, %s", err, output)
	}
}

// TestIgnoredKeys: a key that is no part is not one in silence.
func TestIgnoredKeys(t *testing.T) {
	v := &view{}
	v.take(&corev1.ConfigMap{Data: map[string]string{config.Key: "", "pay": ""}}, "a/b")
	if !slices.Equal(v.ignored, []string{"pay"}) {
		t.Errorf("ignored are %q", v.ignored)
	}
}
