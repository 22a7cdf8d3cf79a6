package parity

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/karmada-io/karmada/pkg/util/names"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/render"
)

func TestWorkName(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range manyNames {
		id := render.Identity{
			Group:     pick(random, "", "apps", "a.example.com"),
			Kind:      text(random, 1, 63),
			Namespace: text(random, 0, 63),
			Name:      text(random, 0, 253),
		}
		want := names.GenerateWorkName(id.Kind, id.Name, id.Namespace)
		if got := id.WorkName(); got != want {
			t.Fatalf("%+v: WorkName is %q, Karmada's is %q", id, got, want)
		}
	}
}

// TestNamespaces checks reserved namespaces in one direction only: we reserve
// more of them.
func TestNamespaces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		cluster := text(random, 1, 48)
		namespace := names.GenerateExecutionSpaceName(cluster)
		if got := render.ExecutionNamespace(cluster); got != namespace {
			t.Fatalf("ExecutionNamespace(%q) is %q, Karmada's is %q", cluster, got, namespace)
		}
		if got, ok := render.ClusterOf(namespace); !ok || got != cluster {
			t.Fatalf("ClusterOf(%q) is %q, %v", namespace, got, ok)
		}
		for _, ns := range []string{namespace, cluster, names.NamespaceKarmadaSystem, names.NamespaceKarmadaCluster} {
			if names.IsReservedNamespace(ns) && !(*config.Configuration)(nil).IsSystemNamespace(ns) {
				t.Fatalf("%q is reserved for Karmada, but not for us", ns)
			}
		}
	}
}

// alphabets are what names are made of: the usual ones, those of RBAC kinds, and
// those that no API server accepts.
var alphabets = []string{
	"abcdefghijklmnopqrstuvwxyz0123456789-.",
	"abcXYZ019-.:",
	"aZ:%\"\\\t\n\x00&$@!",
	"aéßİıẞſK語🚀\u2028",
}

// text makes a name of at least shortest and at most longest characters, and
// sometimes exactly as many.
func text(random *rand.Rand, shortest, longest int) string {
	n := shortest + random.IntN(24)%(longest-shortest+1)
	if random.IntN(50) == 0 {
		n = pick(random, shortest, longest)
	}
	alphabet := []rune(pick(random, alphabets...))
	if random.IntN(4) > 0 {
		alphabet = []rune(alphabets[0])
	}
	var b strings.Builder
	for range n {
		b.WriteRune(pick(random, alphabet...))
	}
	return b.String()
}

func pick[T any](random *rand.Rand, choices ...T) T {
	return choices[random.IntN(len(choices))]
}
