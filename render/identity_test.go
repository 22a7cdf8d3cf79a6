package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestIdentityRoundTrip(t *testing.T) {
	cases := map[string]struct {
		reason string
		id     Identity
		want   string
	}{
		"Core":          {"The core group has no name.", Identity{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, "ConfigMap/shop/settings"},
		"Group":         {"The group follows the kind.", Identity{"apps", "Deployment", "shop", "web"}, "Deployment.apps/shop/web"},
		"LongGroup":     {"A group has dots, a kind has none.", Identity{"a.b.example.com", "Widget", "shop", "web"}, "Widget.a.b.example.com/shop/web"},
		"ClusterScoped": {"Without a namespace, its part is missing.", Identity{"storage.k8s.io", "StorageClass", "", "fast"}, "StorageClass.storage.k8s.io/fast"},
		"ClusterCore":   {"Neither group nor namespace.", Identity{Kind: "PersistentVolume", Name: "pv-1"}, "PersistentVolume/pv-1"},
		"RBACName":      {"Names of RBAC kinds may be almost anything.", Identity{"rbac.authorization.k8s.io", "Role", "shop", "system:Node.Proxier"}, "Role.rbac.authorization.k8s.io/shop/system:Node.Proxier"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.id.String()); diff != "" {
				t.Errorf("%s\nString(): -want +got:\n%s", tc.reason, diff)
			}
			got, err := ParseIdentity(tc.want)
			if err != nil {
				t.Fatalf("%s\nParseIdentity: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.id, got); diff != "" {
				t.Errorf("%s\nParseIdentity: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseIdentityRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
	}{
		"Empty":          {"It names nothing.", ""},
		"KindOnly":       {"A name is missing.", "ConfigMap"},
		"NoName":         {"A name is missing.", "ConfigMap/shop/"},
		"NoKind":         {"A kind is missing.", "/shop/web"},
		"GroupOnly":      {"A kind is missing.", ".apps/shop/web"},
		"EmptyGroup":     {"String never writes the dot alone.", "ConfigMap./shop/web"},
		"EmptyNamespace": {"String never writes two slashes.", "ConfigMap//web"},
		"TooManyParts":   {"No name has a slash.", "ConfigMap/a/b/c"},
		"Huge":           {"The message stays short.", strings.Repeat("\u2028/", 80<<10)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id, err := ParseIdentity(tc.text)
			if err == nil {
				t.Fatalf("%s\nParseIdentity(%.80q) is %v", tc.reason, tc.text, id)
			}
			checkMessage(t, err)
		})
	}
}

func TestIdentityID(t *testing.T) {
	// printf 'apps/Deployment/shop/web' | sha256sum | cut -c1-32
	want := "f9619453820f6489c7d2ceddd162d125"
	if got := (Identity{"apps", "Deployment", "shop", "web"}).ID(); got != want {
		t.Errorf("ID() is %s, want %s", got, want)
	}
	seen := map[string]Identity{}
	for _, id := range []Identity{
		{"", "A", "b", "c"}, {"A", "", "b", "c"}, {"", "A", "", "c"}, {"", "A", "c", ""}, {"b", "A", "", "c"}, {"", "A", "b", "C"},
	} {
		if other, ok := seen[id.ID()]; ok {
			t.Errorf("%+v and %+v have the same ID", id, other)
		}
		seen[id.ID()] = id
	}
}

// The names were printed by Karmada's own function; sandbox/parity compares a
// million more.
func TestWorkName(t *testing.T) {
	cases := map[string]struct {
		reason string
		id     Identity
		want   string
	}{
		"Namespaced":    {"Name, kind and namespace go into the hash.", Identity{"apps", "Deployment", "shop", "web"}, "web-56d6c779bb"},
		"OtherGroup":    {"The group does not.", Identity{"example.com", "Deployment", "shop", "web"}, "web-56d6c779bb"},
		"ClusterScoped": {"Without a namespace, there is no dash for it.", Identity{Kind: "PersistentVolume", Name: "pv-1"}, "pv-1-69d5b558f5"},
		"RBAC":          {"Colons and upper case are replaced.", Identity{"rbac.authorization.k8s.io", "Role", "shop", "system:Node"}, "system.node-84df4f4944"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.id.WorkName(); got != tc.want {
				t.Errorf("%s\nWorkName() is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	if got := ExecutionNamespace("member1"); got != "karmada-es-member1" {
		t.Errorf("ExecutionNamespace is %q", got)
	}
	cases := map[string]struct {
		reason    string
		namespace string
		cluster   string
		ok        bool
	}{
		"Execution": {"An execution namespace has a cluster.", "karmada-es-member1", "member1", true},
		"Nobody":    {"The prefix alone names no cluster.", "karmada-es-", "", false},
		"User":      {"A user's namespace is open.", "shop", "", false},
		"Lookalike": {"Only the beginning counts.", "my-karmada-es-a", "", false},
		"NoNS":      {"Cluster-scoped objects have none.", "", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster, ok := ClusterOf(tc.namespace)
			if cluster != tc.cluster || ok != tc.ok {
				t.Errorf("%s\nClusterOf(%q) is %q, %v", tc.reason, tc.namespace, cluster, ok)
			}
		})
	}
}

func FuzzIdentity(f *testing.F) {
	f.Add("apps", "Deployment", "shop", "web")
	f.Add("", "ConfigMap", "", "x")
	f.Add("rbac.authorization.k8s.io", "Role", "shop", "system:Node")
	f.Add("", "A", "b", strings.Repeat("n", 253))
	f.Add("\xff", "\u2028", "ß", "ẞ\x00")
	f.Fuzz(func(t *testing.T, group, kind, namespace, name string) {
		id := Identity{group, kind, namespace, name}
		if got := id.ID(); len(got) != 32 || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("ID() is %q", got)
		}
		if id.WorkName() == "" {
			t.Error("WorkName() is empty")
		}
		parsed, err := ParseIdentity(id.String())
		if err != nil {
			checkMessage(t, err)
		}
		possible := kind != "" && name != "" && !strings.ContainsAny(kind, "./") && !strings.ContainsAny(group+namespace+name, "/")
		if possible && (err != nil || parsed != id) {
			t.Errorf("ParseIdentity(%q) is %+v, %v", id.String(), parsed, err)
		}
		if again, err := ParseIdentity(name); err == nil && again.String() != name {
			t.Errorf("%q reads as %+v", name, again)
		}
	})
}
