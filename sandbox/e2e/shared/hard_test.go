package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// altered is logged once for each Work that comes back otherwise than it was written.
const altered = "admission alters the Work that is written: not writing it again"

// shapes is the group of custom kinds with any content, some with the names of built-in ones.
const shapes = "shapes.example"

// TestHardObjects mirrors objects that are hard to process, together with an ordinary one:
// those that etcd or Karmada's webhook does not accept as a Work are reported, the others
// arrive.
func TestHardObjects(t *testing.T) {
	t.Parallel()
	ns := NewNamespace(t)
	for _, kind := range []string{"Blob", "Job"} {
		definition := fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, strings.ToLower(kind), kind, shapes)
		Must(t, karmada.Apply(t.Context(), Env.Config(), definition))
		Must(t, karmada.Apply(t.Context(), Env.MemberConfig(Push), definition))
	}
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karmada-mirror-shapes, labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}}
rules:
- {apiGroups: [`+shapes+`], resources: ["*"], verbs: [get, list, watch]}
`)))
	deep := any("bottom")
	for range 2000 {
		deep = map[string]any{"d": deep}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("key \u2028 %d", i)] = []any{int64(i), nil, true, ""}
	}
	nulls := func(size string) map[string]any {
		return map[string]any{"size": size, "limits": map[string]any{"cpu": nil}, "list": []any{nil, map[string]any{"a": nil}}}
	}
	sized := func(n int) map[string]any { return map[string]any{"content": strings.Repeat("x", n)} }
	cases := map[string]struct {
		kind   string
		fields map[string]any
		// refused is the reason of an Event; empty if the object arrives.
		refused string
	}{
		"deep":      {"Blob", map[string]any{"content": deep}, ""},
		"many-keys": {"Blob", map[string]any{"content": many}, ""},
		"numbers":   {"Blob", map[string]any{"content": []any{"1e400", math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), int64(math.MaxInt64), int64(math.MinInt64)}}, ""},
		"a-work":    {"Blob", map[string]any{"content": map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": "none"}}, ""},
		"large":     {"Blob", sized(1_400_000), ""},
		"nulls":     {"Blob", map[string]any{"content": nulls("small")}, ""},
		// The source is just stored, and its Work is a little larger (etcd accepts 1.5 MiB).
		"too-large": {"Blob", sized(1_571_800), "TooLarge"},
		// Karmada's webhook takes a kind for a built-in one by its name alone.
		"odd-job": {"Job", map[string]any{"spec": map[string]any{"selector": "a string", "template": []any{"a", "list"}, "manualSelector": "maybe"}}, "RenderFailed"},
	}
	before, audit := Env.Mirror.Logged(altered), AuditFromNow(t)
	for name, c := range cases {
		u := Asking(Object(shapes+"/v1", c.kind, ns, name, c.fields), Push)
		Eventually(t, name+" to be stored", func(ctx context.Context) error {
			_, err := Env.Admin.Resource(shape(c.kind)).Namespace(ns).Create(ctx, u, metav1.CreateOptions{})
			return err
		})
	}
	long := strings.Repeat("a", 253) // a Work's name is longer than its object's
	Create(t, ConfigMaps, ConfigMap(ns, long, Push, "one"))
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, "one"))
	WantInMembers(t, ns, "page", "one", Push)
	WantEvent(t, ns, long, "RenderFailed")
	for name, c := range cases {
		if c.refused != "" {
			WantEvent(t, ns, name, c.refused)
			continue
		}
		Eventually(t, name+" in the member", func(ctx context.Context) error {
			_, err := Env.Member(Push).Resource(shape(c.kind)).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
			return err
		})
	}
	Change(t, shape("Blob"), ns, "nulls", SetField(nulls("large"), "content"))
	Eventually(t, "the nulls to be in the member", func(ctx context.Context) error {
		u, err := Env.Member(Push).Resource(shape("Blob")).Namespace(ns).Get(ctx, "nulls", metav1.GetOptions{})
		if err == nil && !reflect.DeepEqual(u.Object["content"], any(nulls("large"))) {
			err = fmt.Errorf("they are %v", u.Object["content"])
		}
		return err
	})
	if n := Env.Mirror.Logged(altered) - before; n > 0 {
		t.Errorf("the changes by Karmada's webhook were taken for another webhook's %d times", n)
	}
	// It sweeps every 3 s, and must not send the same bytes again.
	Settle(t)
	tooLarge := WorkOf(render.Identity{Group: shapes, Kind: "Blob", Namespace: ns, Name: "too-large"}, Push)
	if writes := audit.WorkWrites(t, WorkOf(render.Identity{Group: shapes, Kind: "Blob", Namespace: ns, Name: "nulls"}, Push).Name); len(writes) != 2 {
		t.Errorf("the Work with nulls was written %d times: %q", len(writes), writes)
	}
	var answers []string
	for _, r := range audit.Requests(t) {
		// One that the API server, its webhook or etcd could not answer in time is sent again.
		if r.Verb == "create" && r.ObjectRef.Resource == Works.Resource && r.ObjectRef.Name == tooLarge.Name && isSize.MatchString(r.ResponseStatus.Message) {
			answers = append(answers, r.ResponseStatus.Message)
		}
	}
	if len(answers) != 1 {
		t.Errorf("the Work that is too large was refused for its size %d times: %q", len(answers), answers)
	}
	Must(t, Env.Mirror.Probe(t.Context(), "/livez"))
}

// isSize matches the refusals by size of the API server, of etcd, and of the client between them.
var isSize = regexp.MustCompile("limit is [0-9]+|request is too large|larger than max")

// shape is the resource of a custom kind.
func shape(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: shapes, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// autoscaler makes an HPA for the Deployment web.
func autoscaler(ns string) *unstructured.Unstructured {
	return Object("autoscaling/v2", "HorizontalPodAutoscaler", ns, "web", map[string]any{"spec": map[string]any{
		"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}})
}

// TestDeniedByPolicy has a policy of the control plane deny a Work, and repeat what is in it: neither the
// daemon nor its commands repeat that.
func TestDeniedByPolicy(t *testing.T) {
	t.Parallel()
	ns, canary := NewNamespace(t), "canary"+utilrand.String(24)
	deny(t, Env.Config(), ns, "{apiGroups: [work.karmada.io], apiVersions: ['*'], operations: [CREATE], resources: [works]}",
		fmt.Sprintf(`object.spec.workload.manifests.exists(m, m.metadata.name == "page" && m.metadata.namespace == "%s")`, ns),
		`messageExpression: "'this is it: ' + object.spec.workload.manifests[0].data.key"`)
	probe := Object("work.karmada.io/v1alpha1", "Work", render.ExecutionNamespace(Push), "probe-"+ns, map[string]any{
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{Plain(ns, "page", "probe").Object}}}})
	Eventually(t, "the policy to be in force", func(ctx context.Context) error {
		_, err := Env.Admin.Resource(Works).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "this is it: probe") {
			return fmt.Errorf("it does not repeat what it is sent: %v", err)
		}
		return nil
	})
	Create(t, ConfigMaps, ConfigMap(ns, "page", Push, canary))
	WantEvent(t, ns, "page", "RenderFailed", "ValidatingAdmissionPolicy '"+ns+"'")
	_, metrics, err := Env.Mirror.Get(t.Context(), "metrics", "/metrics")
	Must(t, err)
	for where, text := range map[string]string{
		"the log": Env.Mirror.Log(), "the metrics": metrics, "the Events": Kubectl(t, "get", "events", "-n", ns, "-o", "yaml"),
		"explain": MustKarmadaMirror(t, "explain", "cm", "page", "-n", ns),
	} {
		if text == "" || strings.Contains(text, canary) {
			t.Errorf("an object's content is in %s, or that is empty (%d bytes)", where, len(text))
		}
	}
}

// TestDeniedByMember: a workload may name any ServiceAccount of its namespace, and only the
// member's own admission can stop it. The Work's status has the member's message.
func TestDeniedByMember(t *testing.T) {
	t.Parallel()
	const account = "cluster-autoscaler"
	ns := NewNamespace(t)
	deny(t, Env.MemberConfig(Push), "deny-account-"+ns, "{apiGroups: [apps], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [deployments]}",
		fmt.Sprintf(`object.metadata.namespace == "%s" && object.spec.template.spec.?serviceAccountName.orValue("") == "%s"`, ns, account),
		"message: tenants have no use for this account")
	u := Asking(Deployment(ns, "web", "nginx:1", 1), Both)
	SetField(account, "spec", "template", "spec", "serviceAccountName")(u)
	Eventually(t, "the member's policy to be in force", func(ctx context.Context) error {
		_, err := Env.Member(Push).Resource(Deployments).Namespace(ns).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("it is not: %v", err)
		}
		return nil
	})
	Create(t, Deployments, u)
	Eventually(t, "the Deployment in the member that admits it", InMember(Pull, Deployments, ns, "web", account, "spec", "template", "spec", "serviceAccountName"))
	Eventually(t, "the member's message", func(ctx context.Context) error {
		w, err := GetWork(ctx, WorkOf(deployment(ns, "web"), Push))
		if err != nil {
			return err
		}
		if text, err := json.Marshal(w.Object["status"]); !strings.Contains(string(text), "tenants have no use for this account") {
			return errors.Join(err, fmt.Errorf("the Work says %s", text))
		}
		return nil
	})
	WantLine(t, MustKarmadaMirror(t, "status", "deploy", "web", "-n", ns), Push+" .*False .*is forbidden")
	WantGone(t, Deployments, ns, "web", Push)
}

func deployment(ns, name string) render.Identity {
	return render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: name}
}

// deny has a policy of an API server deny the requests that a rule and a condition in CEL
// match. says is a field of its validation: the message.
func deny(t *testing.T, on *rest.Config, name, rule, condition, says string) {
	t.Helper()
	policy := fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - %[2]s
  matchConditions:
  - {name: meant, expression: '%[3]s'}
  validations:
  - expression: "false"
    %[4]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, rule, condition, says)
	t.Cleanup(func() {
		ctx, admission := context.Background(), kubernetes.NewForConfigOrDie(on).AdmissionregistrationV1()
		_ = admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = admission.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	})
	Must(t, karmada.Apply(t.Context(), on, []byte(policy)))
}
