package bench

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

var policyBindings = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}

// policyMistakes are refused by the policies of the manifests, each by the one whose binding
// has this name.
var policyMistakes = map[string]string{"karmada-mirror": render.PreserveOnDeletionAnnotation, "karmada-mirror-spelling": "karmada.target/nothing"}

// limitedUser may write ConfigMaps, and mirror to two clusters only.
const limitedUser = "limited"

// admission measures writes with the admission policies of the manifests and without.
type admission struct {
	*world
	bindings []*unstructured.Unstructured
	limited  dynamic.Interface
}

// measureAdmission compares writes with and without the policies. Both alternate, in pairs,
// so that a machine that becomes slower or faster does not count for one of them.
func measureAdmission(ctx context.Context, w *world, r *report) error {
	a, err := newAdmission(ctx, w)
	if err != nil {
		return err
	}
	asked := map[string]string{render.ClustersAnnotation: "member1,member2"}
	pairs, writes := pick(w.quick, 6, 10*w.repetitions), pick(w.quick, 100, 400)
	for _, c := range []struct {
		what        string
		as          dynamic.Interface
		annotations map[string]string
	}{
		{"without karmada.target/ annotations", w.admin, nil},
		{"with karmada.target/clusters, by an administrator", w.admin, asked},
		{"with karmada.target/clusters, by a user who may mirror to these two clusters only", a.limited, asked},
	} {
		var with, without, differences []float64
		for i := range pairs {
			var took [2]float64 // without and with
			for _, bound := range []bool{i%2 == 1, i%2 == 0} {
				if err := a.bind(ctx, bound); err != nil {
					return err
				}
				if took[pick(bound, 1, 0)], err = timeWrites(ctx, c.as, writes, c.annotations); err != nil {
					return err
				}
			}
			with, without, differences = append(with, 1000*took[1]), append(without, 1000*took[0]), append(differences, 1000*(took[1]-took[0]))
		}
		w.say("a write %s: %s ms with the policies, %s ms without", c.what, summarize(with).format(2), summarize(without).format(2))
		least, greatest := confidence(differences)
		r.measured("latency that the admission policies add to a write "+c.what, "%.2f ms, with 95 %% confidence from %.2f to %.2f: the median difference of %d pairs of runs with and without them, each the median of %d dry-run creates; %.2f ms without",
			summarize(differences).median, least, greatest, pairs, writes, summarize(without).median)
	}
	return a.bind(ctx, true)
}

func newAdmission(ctx context.Context, w *world) (*admission, error) {
	a := &admission{world: w}
	for name := range policyMistakes {
		binding, err := w.admin.Resource(policyBindings).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		binding.SetResourceVersion("")
		binding.SetUID("")
		a.bindings = append(a.bindings, binding)
	}
	err := karmada.Apply(ctx, w.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: limited}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [create]}
- {apiGroups: [cluster.karmada.io], resources: [clusters], resourceNames: [member1, member2], verbs: [mirror]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: limited}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limited}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+limitedUser+`}]
`))
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(w.Config())
	config.Impersonate.UserName = limitedUser
	a.limited, err = dynamic.NewForConfig(config)
	return a, err
}

// bind binds the policies or unbinds them, and waits until that has an effect.
func (a *admission) bind(ctx context.Context, bound bool) error {
	for _, binding := range a.bindings {
		bindings := a.admin.Resource(policyBindings)
		var err error
		if bound {
			_, err = bindings.Create(ctx, binding.DeepCopy(), metav1.CreateOptions{})
		} else {
			err = bindings.Delete(ctx, binding.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		err = a.Wait(ctx, "the admission policies to take effect", func(ctx context.Context) error {
			_, err := writeDry(ctx, a.admin, 0, map[string]string{policyMistakes[binding.GetName()]: "perhaps"})
			if refused := apierrors.IsInvalid(err); refused != bound {
				return fmt.Errorf("a mistake is refused: %v", refused)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// timeWrites returns the median time of a write, in seconds.
func timeWrites(ctx context.Context, as dynamic.Interface, n int, annotations map[string]string) (float64, error) {
	took := make([]float64, 0, n)
	for i := range n {
		lasted, err := writeDry(ctx, as, i, annotations)
		if err != nil {
			return 0, fmt.Errorf("cannot create a ConfigMap: %w", err)
		}
		took = append(took, lasted.Seconds())
	}
	return summarize(took).median, nil
}

// writeDry creates a ConfigMap as a dry run.
func writeDry(ctx context.Context, as dynamic.Interface, i int, annotations map[string]string) (time.Duration, error) {
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"key": "value"}}}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetName(fmt.Sprintf("admitted-%d", i))
	u.SetAnnotations(annotations)
	began := time.Now()
	_, err := as.Resource(configMaps).Namespace(namespace).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return time.Since(began), err
}
