package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

// TestWhoseWork: labels prove nothing, and an annotation counts only if it matches the Work.
func TestWhoseWork(t *testing.T) {
	named := func(value string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { sample.Annotate(u, render.SourceAnnotation, value) }
	}
	cases := map[string]struct {
		reason                string
		change                func(*unstructured.Unstructured)
		ours, names, labelled bool
	}{
		"AsWritten":      {"as we write it", func(*unstructured.Unstructured) {}, true, true, true},
		"OtherNamespace": {"it is not in an execution namespace", func(u *unstructured.Unstructured) { u.SetNamespace("shop") }, false, false, true},
		"OtherName":      {"it has another name", func(u *unstructured.Unstructured) { u.SetName("copy") }, false, false, true},
		"ForgedSource":   {"it names a source whose Work has another name", named("ConfigMap/shop/other"), false, false, true},
		"NoSource":       {"it names no source", func(u *unstructured.Unstructured) { u.SetAnnotations(nil) }, false, false, true},
		"SourceOfNoForm": {"the annotation is not in our form", named("ConfigMap./shop/page"), false, false, true},
		"OtherManager":   {"another tool manages it", func(u *unstructured.Unstructured) { sample.SetLabel(u, render.ManagedByLabel, "Helm") }, true, true, false},
		"LongName":       {"it has the longer name", func(u *unstructured.Unstructured) { u.SetName(sample.Page.LongWorkName()) }, true, true, true},
		"Overwritten":    {"it carries another object", sample.Overwritten, false, true, true},
		"Emptied":        {"it carries nothing that can be identified", sample.Emptied, false, true, true},
		"Bound":          {"a binding took it over", sample.Bound, false, true, true},
		"Controlled": {"a controller owns it", func(u *unstructured.Unstructured) {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Widget", Name: "w", UID: "1", Controller: new(true)}})
		}, false, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := NewWork(sample.Work(sample.Asking("1", "m1"), "m1", tc.change))
			if (w.Foreign == "") != tc.ours || w.NamesSource() != tc.names || w.Labelled != tc.labelled {
				t.Errorf("%s: foreign %q, names %v, labelled %v", tc.reason, w.Foreign, w.NamesSource(), w.Labelled)
			}
		})
	}
}

// TestIsOrphaning: only a deletion that preserves its object, and that Karmada has not
// completed, has to part a Work from it.
func TestIsOrphaning(t *testing.T) {
	cases := map[string]struct {
		reason  string
		changes []sample.Change
		want    bool
	}{
		"Preserving": {"it is being deleted, and preserves", []sample.Change{sample.Preserving, sample.Terminating}, true},
		"There":      {"it is not being deleted", []sample.Change{sample.Preserving}, false},
		"Deleting":   {"its object is deleted with it", []sample.Change{sample.Terminating}, false},
		"Detached":   {"it is parted already", []sample.Change{sample.Preserving, sample.Terminating, sample.Unfinalized}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := NewWork(sample.Work(sample.Asking("1", "m1"), "m1", tc.changes...))
			if got := w.IsOrphaning(); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

// TestHealthOf: what is ill or under way is not healthy, even if Karmada says so.
func TestHealthOf(t *testing.T) {
	pods := func(all, updated, available int64) map[string]any {
		return map[string]any{"replicas": all, "updatedReplicas": updated, "readyReplicas": available, "availableReplicas": available}
	}
	of := func(kind, status string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}
	}
	for name, c := range map[string]struct {
		apiVersion, kind, health string
		status                   map[string]any
		want                     string
	}{
		"RolledOut":    {"apps/v1", "Deployment", "Healthy", pods(1, 1, 1), "Healthy"},
		"OldPodStays":  {"apps/v1", "Deployment", "Healthy", pods(2, 1, 1), "Unhealthy"}, // the new Pod crashes
		"NoStatus":     {"apps/v1", "Deployment", "Unknown", nil, "Unknown"},
		"JobFailed":    {"batch/v1", "Job", "Healthy", of("Failed", "True"), "Unhealthy"},
		"JobRuns":      {"batch/v1", "Job", "Healthy", map[string]any{"active": int64(1)}, "Healthy"},
		"NotReady":     {"cert-manager.io/v1", "Certificate", "Healthy", of("Ready", "False"), "Unhealthy"},
		"Ready":        {"cert-manager.io/v1", "Certificate", "Healthy", of("Ready", "True"), "Healthy"},
		"NoConditions": {"example.com/v1", "Website", "Healthy", map[string]any{"phase": "Odd"}, "Healthy"},
		"ClaimPending": {"v1", "PersistentVolumeClaim", "Unhealthy", map[string]any{"phase": "Pending"}, "Unhealthy"},
	} {
		u := sample.Asking("1", "m1")
		u.SetAPIVersion(c.apiVersion)
		u.SetKind(c.kind)
		work := sample.Work(u, "m1", sample.Applied("True"))
		item := map[string]any{"health": c.health}
		if c.status != nil {
			item["status"] = c.status
		}
		work.Object["status"].(map[string]any)["manifestStatuses"] = []any{item}
		if got := HealthOf(work); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// TestWell: what the reports on a Deployment say of the content of its Work.
func TestWell(t *testing.T) {
	status := map[string]any{
		"generation": int64(2), "observedGeneration": int64(2), "resourceTemplateGeneration": int64(5),
		"replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
	}
	at := sample.Created
	for name, c := range map[string]struct {
		applied, health   string
		generation        int64
		reported          time.Time
		isWell, isCertain bool
		trouble           string
	}{
		"Done":      {"True", "Healthy", 5, at.Add(time.Second), true, true, ""},
		"Same":      {"True", "Healthy", 5, at, true, false, ""}, // the report may be of the same second, and earlier
		"Failed":    {"False", "Healthy", 5, at.Add(time.Second), false, true, "x"},
		"Unhealthy": {"True", "Unhealthy", 5, at.Add(time.Second), false, false, "Unhealthy"},
		"Unknown":   {"True", "Unknown", 5, at.Add(time.Second), true, true, ""},
		"Older":     {"True", "Healthy", 6, at.Add(time.Second), false, false, "this generation has not been observed"},
	} {
		t.Run(name, func(t *testing.T) {
			u := sample.Asking("1", "m1")
			u.SetAPIVersion("apps/v1")
			u.SetKind("Deployment")
			u.SetGeneration(c.generation)
			work := sample.Work(u, "m1", sample.Applied(c.applied))
			work.Object["status"].(map[string]any)["manifestStatuses"] = []any{map[string]any{"health": c.health, "status": status}}
			work.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: "karmada-mirror", Time: new(metav1.NewTime(at))}, {Manager: "karmada", Subresource: "status", Time: new(metav1.NewTime(c.reported))},
			})
			if w := NewWork(work); w.IsWell() != c.isWell || w.HasRolledOut() != c.isCertain {
				t.Errorf("well %t, rolled out %t", w.IsWell(), w.HasRolledOut())
			}
			if got := NewWork(work).Trouble(); got != "" {
				t.Errorf("without waves, the report takes memory: %q", got)
			}
			annotations := work.GetAnnotations()
			annotations[render.WrittenAnnotation] = "content"
			work.SetAnnotations(annotations)
			if got := NewWork(work).Trouble(); got != c.trouble {
				t.Errorf("trouble: %q, not %q", got, c.trouble)
			}
		})
	}
}
