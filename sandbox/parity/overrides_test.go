package parity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util/overridemanager"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// TestOverrides compares what policies make of an object with what Karmada's override
// manager makes of it.
func TestOverrides(t *testing.T) {
	klog.SetLogger(klog.Logger{}) // Karmada logs each error, with the policy
	t.Cleanup(klog.ClearLogger)
	random := rand.New(rand.NewPCG(11, 12))
	counts := map[string]int{}
	for n := range manyOverrides {
		c := newOverrideCase(t, random)
		if problem := c.compare(t, counts); problem != "" {
			t.Fatalf("case %d: %s\n%s", n, problem, c)
		}
	}
	t.Logf("%d pairs: %v", manyOverrides, counts)
	// Otherwise the comparison would say little.
	for what, least := range map[string]int{
		outcomeChanged: manyOverrides / 3, outcomeUnchanged: manyOverrides / 20, outcomeFailed: manyOverrides / 20, outcomeIdentity: manyOverrides / 100,
		countTwoOrMore: manyOverrides / 5, countRelabelled: manyOverrides / 300,
	} {
		if counts[what] < least {
			t.Errorf("%d pairs are %q, want %d at least", counts[what], what, least)
		}
	}
}

// The ways in which a comparison may end, and what is counted besides.
const (
	outcomeChanged   = "changed"
	outcomeUnchanged = "not changed"
	outcomeFailed    = "refused by both"
	outcomePanicked  = "refused by us, panic in Karmada"
	outcomeIdentity  = "refused by us for the identity"

	countTwoOrMore = "by two or more policies"
	// countRelabelled: a ClusterOverridePolicy changes labels by which OverridePolicies
	// select.
	countRelabelled = "selected otherwise before the labels were changed"
)

// overrideCase is one comparison.
type overrideCase struct {
	object   *unstructured.Unstructured
	cluster  *clusterv1alpha1.Cluster
	policies []*unstructured.Unstructured
}

func (c overrideCase) String() string {
	encoded, err := json.Marshal(map[string]any{"object": c.object, "cluster": c.cluster, "policies": c.policies})
	return fmt.Sprint(string(encoded), err)
}

// compare returns how the two differ; empty if they do not.
func (c overrideCase) compare(t *testing.T, counts map[string]int) string {
	t.Helper()
	var policies []*override.Policy
	for _, u := range c.policies {
		policy, err := override.NewPolicy(u)
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		policies = append(policies, policy)
	}
	overrides := override.For(policies, c.selected(), c.target())
	ours := c.object.DeepCopy()
	err := overrides.Apply(ours.Object)
	theirs, applied, karmadaErr := c.karmada(t)

	switch {
	case errors.Is(err, override.ErrIdentity):
		counts[outcomeIdentity]++
		if theirs != nil && sameIdentity(theirs, c.object) && !c.passesThroughAnother() {
			return fmt.Sprintf("we refuse (%v) what leaves the identity as it was", err)
		}
		return ""
	case err != nil && errors.Is(karmadaErr, errPanicked):
		counts[outcomePanicked]++
		return ""
	case (err != nil) != (karmadaErr != nil):
		return fmt.Sprintf("our error is %v, and Karmada's is %v", err, karmadaErr)
	case err != nil:
		counts[outcomeFailed]++
		return ""
	}
	return c.compareResults(counts, overrides, ours, theirs, applied)
}

func (c overrideCase) compareResults(counts map[string]int, overrides override.Overrides, ours, theirs *unstructured.Unstructured, applied []string) string {
	var names []string
	for _, p := range overrides.Policies() {
		names = append(names, p.String())
	}
	if diff := cmp.Diff(applied, names); diff != "" {
		return "other policies apply: -Karmada +ours:\n" + diff
	}
	dropEmptyKeys(theirs)
	if diff := cmp.Diff(encode(theirs), encode(ours)); diff != "" {
		return "other manifests: -Karmada +ours:\n" + diff
	}
	outcome := outcomeUnchanged
	if encode(ours) != encode(c.object) {
		outcome = outcomeChanged
	}
	counts[outcome]++
	if len(names) > 1 && outcome == outcomeChanged {
		counts[countTwoOrMore]++
	}
	if c.isRelabelled(names) {
		counts[countRelabelled]++
	}
	return ""
}

// isRelabelled reports whether other OverridePolicies would apply to the object as it is.
func (c overrideCase) isRelabelled(names []string) bool {
	var narrow []*override.Policy
	for _, u := range c.policies {
		if policy, err := override.NewPolicy(u); err == nil && policy.Namespace() != "" {
			narrow = append(narrow, policy)
		}
	}
	var before []string
	for _, p := range override.For(narrow, c.selected(), c.target()).Policies() {
		before = append(before, p.String())
	}
	return !slices.Equal(before, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "Cluster") }))
}

// passesThroughAnother reports whether there is more than one operation that may change the
// identity: one may undo another's change, and we refuse the first.
func (c overrideCase) passesThroughAnother() bool {
	encoded, _ := json.Marshal(c.policies)
	operations := 0
	for _, field := range []string{`"/kind"`, `"/apiVersion"`, `"/metadata/name"`, `"/metadata/namespace"`, `"/metadata"`, `"path":""`} {
		operations += strings.Count(string(encoded), field)
	}
	return operations > 1
}

func (c overrideCase) selected() override.Object {
	return override.Object{
		APIVersion: c.object.GetAPIVersion(), Kind: c.object.GetKind(), Namespace: c.object.GetNamespace(), Name: c.object.GetName(),
		Labels: c.object.GetLabels(),
	}
}

func (c overrideCase) target() override.Cluster {
	spec := c.cluster.Spec
	return override.Cluster{Name: c.cluster.Name, Labels: c.cluster.Labels, Provider: spec.Provider, Region: spec.Region, Zones: spec.Zones}
}

var errPanicked = errors.New("panic in Karmada")

// karmada returns what Karmada makes of the object, and the policies that it applies. It
// starts from an object that has labels and annotations, as Karmada's templates do.
func (c overrideCase) karmada(t *testing.T) (result *unstructured.Unstructured, applied []string, err error) {
	t.Helper()
	result = c.object.DeepCopy()
	metadata := result.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if metadata[field] == nil {
			metadata[field] = map[string]any{}
		}
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanicked, r)
		}
	}()
	manager := overridemanager.New(newOverrideClient(t, c), &record.FakeRecorder{})
	wide, narrow, err := manager.ApplyOverridePolicies(result, c.cluster.Name)
	if err != nil {
		return nil, nil, err
	}
	return result, append(namesOf("ClusterOverridePolicy/", wide), namesOf("OverridePolicy/", narrow)...), nil
}

// namesOf returns each policy once: Karmada lists one per rule.
func namesOf(kind string, applied *overridemanager.AppliedOverrides) (names []string) {
	if applied == nil {
		return nil
	}
	for _, item := range applied.AppliedItems {
		names = append(names, kind+item.PolicyName)
	}
	return slices.Compact(names)
}

// overrideClient answers what the override manager asks.
type overrideClient struct {
	client.Client
	cluster *clusterv1alpha1.Cluster
	wide    []policyv1alpha1.ClusterOverridePolicy
	narrow  []policyv1alpha1.OverridePolicy
}

func newOverrideClient(t *testing.T, c overrideCase) overrideClient {
	t.Helper()
	answers := overrideClient{cluster: c.cluster}
	for _, u := range c.policies {
		if u.GetNamespace() == "" {
			answers.wide = append(answers.wide, decodeAs[policyv1alpha1.ClusterOverridePolicy](t, u))
			continue
		}
		answers.narrow = append(answers.narrow, decodeAs[policyv1alpha1.OverridePolicy](t, u))
	}
	return answers
}

func decodeAs[T any](t *testing.T, u *unstructured.Unstructured) (decoded T) {
	t.Helper()
	if err := json.Unmarshal([]byte(encode(u)), &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func (c overrideClient) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.cluster.DeepCopyInto(into.(*clusterv1alpha1.Cluster))
	return nil
}

func (c overrideClient) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	switch list := into.(type) {
	case *policyv1alpha1.ClusterOverridePolicyList:
		list.Items = c.wide
	case *policyv1alpha1.OverridePolicyList:
		for _, p := range c.narrow {
			if p.Namespace == asked.Namespace {
				list.Items = append(list.Items, p)
			}
		}
	default:
		return fmt.Errorf("a list of %T was not expected", into)
	}
	return nil
}

func encode(u *unstructured.Unstructured) string {
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

func dropEmptyKeys(u *unstructured.Unstructured) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if entries, ok := metadata[field].(map[string]any); ok && len(entries) == 0 {
			delete(metadata, field)
		}
	}
}

func sameIdentity(a, b *unstructured.Unstructured) bool {
	return a.GetAPIVersion() == b.GetAPIVersion() && a.GetKind() == b.GetKind() && a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace()
}
