package apart

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"
)

// TestRecreated deletes objects and creates them again at once: members have another one if what they had cannot become that, or is
// to run again, and keep it otherwise.
func TestRecreated(t *testing.T) {
	install(t, "- {resource: configmaps}\n- {resource: secrets}\n- {resource: services}\n- {group: apps, resource: deployments}\n- {group: apps, resource: statefulsets}\n- {group: batch, resource: jobs}\n")
	Must(t, karmada.Apply(t.Context(), Env.Config(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: karmada-mirror-secrets, labels: {rbac.karmada.target/aggregate-to-karmada-mirror: "true"}}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}
`)))
	StartDaemon(t, DaemonOptions{Flags: []string{"--deletion-settle-period=30s"}}) // kubectl may take its time between the two
	ns := NewNamespace(t)
	before, after, job, small := fieldIn(t, ns, "04-recreated-immutable"), fieldIn(t, ns, "04-recreated-immutable.after"), fieldIn(t, ns, "23-hook-job-recreated"), fieldIn(t, ns, "14-statefulset-orphan")
	text, err := os.ReadFile(small)
	Must(t, err)
	large := filepath.Join(t.TempDir(), "large.yaml")
	WriteFile(t, large, []byte(strings.ReplaceAll(string(text), "1Gi", "2Gi")))

	apps := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
	}
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	all := map[string]schema.GroupVersionResource{
		"web": apps("deployments"), "db": apps("statefulsets"), "settings": ConfigMaps, "registry": core("secrets"),
		"pre-upgrade": {Group: "batch", Version: "v1", Resource: "jobs"},
	}
	uids := map[string]types.UID{}
	// uid waits until a member has another object than before, or the same.
	uid := func(name string, gvr schema.GroupVersionResource, isOther bool) {
		t.Helper()
		Eventually(t, name+" to be another object", func(ctx context.Context) error {
			u, err := Env.Member(Push).Resource(gvr).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
			if err == nil && (u.GetUID() == uids[gvr.Resource+name]) == isOther {
				err = errors.New("it is not as it should be")
			}
			if err == nil {
				uids[gvr.Resource+name] = u.GetUID()
			}
			return err
		})
	}
	each := func(isOther bool) {
		t.Helper()
		for name, gvr := range all {
			uid(name, gvr, isOther)
		}
		uid("db", core("services"), isOther)
	}
	Kubectl(t, "apply", "-f", before, "-f", small, "-f", job)
	each(true)
	Kubectl(t, "replace", "--force", "-f", after, "-f", large, "-f", job)
	each(true)
	Eventually(t, "all to be applied", func(context.Context) error {
		if output, err := KarmadaMirror(t, "wait", "-n", ns, "deploy/web", "sts/db", "cm/settings", "secret/registry", "svc/db", "job/pre-upgrade", "--for=applied", "--timeout=5s"); err != nil {
			return errors.New(output)
		}
		return nil
	})
	delete(all, "pre-upgrade")
	Kubectl(t, "replace", "--force", "-f", after, "-f", large)
	Eventually(t, "the Works to be made from the new objects", func(ctx context.Context) error {
		u, err := Env.Admin.Resource(apps("deployments")).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		work, err := GetWork(ctx, WorkOf(render.Identity{Group: "apps", Kind: "Deployment", Namespace: ns, Name: "web"}, Push))
		if err == nil && work.GetAnnotations()[render.SourceUIDAnnotation] != string(u.GetUID()) {
			err = errors.New("they are not")
		}
		return err
	})
	Pass(t, 5*time.Second) // and no deletion comes later
	each(false)
	Kubectl(t, "-n", ns, "delete", "sts", "db", "--cascade=orphan")
	WantEvent(t, ns, "db", "OrphansDeleted", "preserve")
	t.Run("InWaves", func(t *testing.T) { replacesInWaves(t, ns) })
}

// replacesInWaves deletes an immutable ConfigMap and creates it again: the second member keeps its object until the first has
// another one, and that has been there for a while.
func replacesInWaves(t *testing.T, ns string) {
	sealed := func(value string) string {
		file := filepath.Join(t.TempDir(), value+".yaml")
		WriteFile(t, file, []byte("apiVersion: v1\nkind: ConfigMap\nimmutable: true\nmetadata:\n  name: sealed\n  namespace: "+ns+
			"\n  annotations: {karmada.target/clusters: '"+Both+"', karmada.target/waves: '"+Push+"; *', karmada.target/wave-bake: 15s}\ndata: {key: "+value+"}\n"))
		return file
	}
	Kubectl(t, "apply", "-f", sealed("one"))
	WantInMembers(t, ns, "sealed", "one", Push, Pull)
	first, second := MemberUID(t, ns, "sealed", Push), MemberUID(t, ns, "sealed", Pull)
	Kubectl(t, "replace", "--force", "-f", sealed("two"))
	WantInMembers(t, ns, "sealed", "two", Push)
	WantInMembers(t, ns, "sealed", "one", Pull)
	if MemberUID(t, ns, "sealed", Push) == first || MemberUID(t, ns, "sealed", Pull) != second {
		t.Error("the first member has the same object, or the second another one")
	}
	WantInMembers(t, ns, "sealed", "two", Pull)
	if MemberUID(t, ns, "sealed", Pull) == second {
		t.Error("the second member has the same object")
	}
}

// fieldIn returns a file with an input that was made from a public bug report, in a namespace of its own.
func fieldIn(t *testing.T, namespace, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name+".yaml")
	WriteFile(t, file, bytes.ReplaceAll(RepositoryFile(t, "render", "testdata", "field", name+".yaml"), []byte("shop"), []byte(namespace)))
	return file
}
