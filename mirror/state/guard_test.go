package state

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/render"
)

const confidential = "a part of a Secret"

// TestGuardedObject: an object that cannot be read keeps its name and its wishes, and has a
// fault instead of a content.
func TestGuardedObject(t *testing.T) {
	for cause, poison := range map[string]func() (*render.Manifest, error){
		"a panic with a string": func() (*render.Manifest, error) { panic(confidential) },
		"interface conversion":  func() (*render.Manifest, error) { return any(confidential).(*render.Manifest), nil },
	} {
		o := newStub(sample.Asking("1", "m1"))
		o.Content = guardedContent(poison)
		if o.ID != sample.Page || !o.Wishes().Ask() || o.Content.Manifest != nil {
			t.Fatalf("a poison object became %+v", o)
		}
		if !strings.Contains(o.Content.Fault, cause) || strings.Contains(o.Content.Fault, confidential) {
			t.Errorf("the fault is %q", o.Content.Fault)
		}
	}
}

// TestGuardedWork: a Work that cannot be read is not ours, whatever source it names.
func TestGuardedWork(t *testing.T) {
	ours := sample.Work(sample.Asking("1", "m1"), "m1")
	w := newWork(ours, func(*unstructured.Unstructured, Work) *Work { panic(confidential) })
	if w.Cluster != "m1" || w.Name != sample.Page.WorkName() || w.NamesSource() || w.Foreign == "" || strings.Contains(w.Foreign, confidential) {
		t.Errorf("a poison Work became %+v", w)
	}
}
