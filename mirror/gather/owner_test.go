package gather

import (
	"testing"

	clusterv1alpha1 "github.com/karmada-io/api/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

func serving(name string, enablements ...any) *state.Cluster {
	u := named("cluster.karmada.io/v1alpha1", "Cluster", "", name)
	u.Object["status"] = map[string]any{
		"conditions":     []any{map[string]any{"type": clusterv1alpha1.ClusterConditionCompleteAPIEnablements, "status": "True"}, map[string]any{"type": "Ready", "status": "True"}},
		"apiEnablements": enablements,
	}
	return state.NewCluster(u)
}

func enabled(gv string, kinds ...string) any {
	var resources []any
	for _, k := range kinds {
		resources = append(resources, map[string]any{"kind": k, "name": k})
	}
	return map[string]any{"groupVersion": gv, "resources": resources}
}

func ownedBy(u *unstructured.Unstructured, apiVersion, kind, name string) *unstructured.Unstructured {
	u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "x", Controller: new(true)}})
	return u
}

func withDefault(clusters string) *unstructured.Unstructured {
	n := named("v1", "Namespace", "", "shop")
	n.SetAnnotations(map[string]string{render.ClustersAnnotation: clusters})
	return n
}

// TestNotOfItsOwner: no controller in the member makes the object, though its owner is mirrored there.
func TestNotOfItsOwner(t *testing.T) {
	manual := ownedBy(named("batch/v1", "Job", "shop", "backup-now"), "batch/v1", "CronJob", "backup")
	manual.SetAnnotations(map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}) // by kubectl create job --from=cronjob/backup
	for reason, c := range map[string]struct{ owner, object *unstructured.Unstructured }{
		"a user makes the Job": {named("batch/v1", "CronJob", "shop", "backup"), manual},
		"they own each other":  {ownedBy(named("v1", "Secret", "shop", "b"), "v1", "Secret", "a"), ownedBy(named("v1", "Secret", "shop", "a"), "v1", "Secret", "b")},
		"it owns itself":       {named("v1", "Secret", "shop", "other"), ownedBy(named("v1", "Secret", "shop", "a"), "v1", "Secret", "a")},
		"it lacks the kind":    {named("external-secrets.io/v1", "ExternalSecret", "shop", "pull"), ownedBy(named("v1", "Secret", "shop", "pull"), "external-secrets.io/v1", "ExternalSecret", "pull")},
	} {
		s := NewFiles(nil, []*state.Cluster{serving("member1", enabled("batch/v1", "CronJob", "Job"), enabled("v1", "Secret"))}, []*unstructured.Unstructured{withDefault("member1"), c.owner, c.object})
		if target := judge.On(s.Facts(IdentityOf(c.object))).Verdict.Targets["member1"]; target.Decision != judge.Wanted {
			t.Errorf("%s: %s", reason, target.Because)
		}
	}
}

// TestOwned: a cluster that is left to the owner's controller is not lacking, and holds up no status.
func TestOwned(t *testing.T) {
	owner := named("example.com/v1", "App", "shop", "web")
	owner.SetAnnotations(map[string]string{render.ClustersAnnotation: "member1"})
	web := ownedBy(named("apps/v1", "Deployment", "shop", "web"), "example.com/v1", "App", "web")
	web.Object["spec"] = map[string]any{"replicas": int64(1)}
	n := withDefault("member1,member2")
	kinds := []any{enabled("apps/v1", "Deployment"), enabled("example.com/v1", "App")}
	s := NewFiles(nil, []*state.Cluster{serving("member1", kinds...), serving("member2", kinds...)}, []*unstructured.Unstructured{n, owner, web})
	j := judge.On(s.Facts(IdentityOf(web)))
	if target := j.Verdict.Targets["member1"]; target.Decision != judge.Unknown {
		t.Fatalf("%v", target.Decision)
	}
	if got := j.Lacking(); len(got) != 0 {
		t.Errorf("lacking in %v", got)
	}
	if got := j.Reporting(); len(got) != 1 {
		t.Errorf("its status waits for %v", got)
	}
}
