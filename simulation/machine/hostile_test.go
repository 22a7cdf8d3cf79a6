package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/karmada-target/karmada-mirror/simulation/apiserver"
)

// hostile is a cluster whose agent does what it may (GenerateClusterRole and GenerateWorkAccessRole in
// pkg/karmadactl/register/register.go, Karmada v1.18.2) and the admission policies leave to it. The model knows nothing of what
// the agent does, and judges what is written and deleted for the other clusters.
const (
	hostile       = "mx"
	hostilePrefix = "karmada-es-" + hostile + "/"

	// breakerHigh is a breaker that holds nothing of all that happens here.
	breakerHigh = "deletion: {holdAbove: {works: 1000, percent: 99}}\n"
)

// besideAgent is a scene with the hostile cluster, and without what a member's claims decide: how replicas are divided, what
// the status of a source says, and that an object waits in the foreground for all its clusters.
func besideAgent(of *scene) *scene {
	s := *of
	s.isHostile, s.steps, s.annotations, s.defaults, s.differing = true, maps.Clone(s.steps), maps.Clone(s.annotations), maps.Clone(s.defaults), maps.Clone(s.differing)
	for _, claimed := range []map[string]choices{s.annotations, s.defaults, s.differing} {
		delete(claimed, "karmada.target/replicas")
		delete(claimed, deletionKey)
	}
	s.steps["agent"] = 120
	return &s
}

// inWavesBefore has the hostile cluster in the last wave, alone: it opens none.
func inWavesBefore() *scene {
	s := besideAgent(inWaves)
	s.annotations[wavesKey] = choices{"m1;m2,m3,m4;*": 4, "m1;m2,m3,m4(1);*": 4, "m4;m1,m2,m3(2);*": 2}
	return s
}

// attacks are what the agent does with one of its Works, if there is any.
var attacks = map[string]func(*machine, *unstructured.Unstructured) error{
	"says it is applied": reports("True", map[string]any{"replicas": int64(7), "observedGeneration": int64(1 << 40)}),
	"says it fails":      reports("False", map[string]any{"conditions": "none"}),
	"says very much":     reports("True", map[string]any{"notes": strings.Repeat("x", 300<<10)}),
	"says nothing": func(m *machine, w *unstructured.Unstructured) error {
		return m.modifies(w, "status", setField(nil, "status"))
	},
	"deletes it": (*machine).removes,
	"keeps it": func(m *machine, w *unstructured.Unstructured) error {
		return m.modifies(w, "", func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.com/agent"}) })
	},
	"releases it": func(m *machine, w *unstructured.Unstructured) error {
		return m.modifies(w, "", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	},
	"replaces it": func(m *machine, w *unstructured.Unstructured) error { return m.replaces(w, nil) },
	"replaces it by a policy's": func(m *machine, w *unstructured.Unstructured) error {
		return m.replaces(w, map[string]string{"resourcebinding.karmada.io/permanent-id": "forged"})
	},
}

// reports writes a status: whether it is applied, and what the object says of itself.
func reports(applied string, status map[string]any) func(*machine, *unstructured.Unstructured) error {
	return func(m *machine, w *unstructured.Unstructured) error {
		condition := map[string]any{"type": "Applied", "status": applied, "reason": "x", "message": "x", "lastTransitionTime": "2100-01-01T00:00:00Z"}
		manifest := map[string]any{"health": "Healthy", "identifier": map[string]any{"ordinal": int64(0), "version": "v1", "kind": "x", "resource": "", "name": "x"}, "status": status}
		return m.modifies(w, "status", setField(map[string]any{"conditions": []any{condition}, "manifestStatuses": []any{manifest}}, "status"))
	}
}

func (m *machine) removes(w *unstructured.Unstructured) error {
	return m.store.Delete(workRef(w.GetNamespace()+"/"+w.GetName()), metav1.DeleteOptions{})
}

// modifies changes a Work that may have gone.
func (m *machine) modifies(w *unstructured.Unstructured, subresource string, change func(*unstructured.Unstructured)) error {
	_, err := m.store.Modify(workRef(w.GetNamespace()+"/"+w.GetName()), subresource, func(o apiserver.Object) { change(&unstructured.Unstructured{Object: o}) })
	return err
}

// replaces deletes a Work and creates another's with the same name and content.
func (m *machine) replaces(w *unstructured.Unstructured, labels map[string]string) error {
	err := m.modifies(w, "", func(u *unstructured.Unstructured) { u.SetFinalizers(nil) })
	if err == nil {
		err = ignoreNotFound(m.removes(w))
	}
	if err != nil {
		return err
	}
	o := object(w.GetAPIVersion(), w.GetKind(), w.GetNamespace(), w.GetName(), map[string]any{"spec": w.Object["spec"]})
	(&unstructured.Unstructured{Object: o}).SetLabels(labels)
	_, err = m.store.Create(works, o)
	return err
}

// hostileDrawers draw what the agent does.
var hostileDrawers = map[string]func(*rapid.T, *scene) step{
	"agent": func(t *rapid.T, _ *scene) step {
		what := rapid.SampledFrom(append(slices.Sorted(maps.Keys(attacks)), "is away", "is back", "serves nothing", "leaves", "joins", "takes Leases")).Draw(t, "what")
		which := rapid.IntRange(0, 20).Draw(t, "which")
		return step{fmt.Sprintf("%s, %d", what, which), func(m *machine) error { return m.attack(what, which) }}
	},
}

// attack does it if the API server lets it.
func (m *machine) attack(what string, which int) error {
	err := m.tryAttack(what, which)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (m *machine) tryAttack(what string, which int) error {
	switch what {
	case "is away", "is back":
		return m.setReady(hostile, what == "is back")
	case "serves nothing":
		_, err := m.store.Modify(apiserver.Ref{Resource: clusters, Name: hostile}, "status", func(o apiserver.Object) {
			setField(nil, "status", "apiEnablements")(&unstructured.Unstructured{Object: o})
		})
		return err
	case "leaves":
		return m.removeCluster(hostile)
	case "joins":
		return m.putCluster(hostile, map[string]string{"tier": "edge"}, "")
	case "takes Leases": // other than the daemon's, which a policy keeps
		_, err := m.store.Create(leases, object("coordination.k8s.io/v1", "Lease", "karmada-system", fmt.Sprintf("lease-%d", which), map[string]any{"spec": map[string]any{"holderIdentity": hostile}}))
		return err
	}
	if all := m.store.List(works, strings.TrimSuffix(hostilePrefix, "/")); len(all) > 0 {
		return attacks[what](m, &unstructured.Unstructured{Object: all[which%len(all)]})
	}
	return nil
}

// isHostile reports whether a Work is one that the agent may write.
func isHostile(work string) bool { return strings.HasPrefix(work, hostilePrefix) }
