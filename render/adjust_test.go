package render

import (
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func decodeWork(t *testing.T, encoded []byte) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(encoded, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func patched(t *testing.T, work, patch []byte) *unstructured.Unstructured {
	t.Helper()
	after, err := jsonpatch.MergePatch(work, patch)
	if err != nil {
		t.Fatal(err)
	}
	return decodeWork(t, after)
}

// notedWork is the Work of an object in waves with some data.
func notedWork(t *testing.T, cluster, value string, o Options) (*Template, []byte) {
	t.Helper()
	id := Identity{Kind: "ConfigMap", Namespace: "shop", Name: "page"}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "page"}, "data": map[string]any{"key": value}}}
	m, err := NewManifest(u, id, "uid-1")
	if err != nil {
		t.Fatal(err)
	}
	template, err := m.Template(o).With(Edit{Noted: true})
	if err != nil {
		t.Fatal(err)
	}
	return template, template.Work(cluster)
}

// noteOf returns the note of a Work, and the note that fits its content.
func noteOf(t *testing.T, u *unstructured.Unstructured) (note, fits string) {
	t.Helper()
	_, content, err := DigestOf(u.Object, u.GetNamespace(), u.GetName())
	if err != nil {
		t.Fatal(err)
	}
	return NotesOf(u.GetAnnotations()).Written, content.String()
}

func TestAdjust(t *testing.T) {
	_, before := notedWork(t, "m1", "a", Options{PreserveOnDeletion: true})
	next, _ := notedWork(t, "m1", "b", Options{Suspend: true})
	after := patched(t, before, next.Adjust("7", []string{"other.example/keep"}, nil, false, false))
	if note, fits := noteOf(t, after); note != fits {
		t.Errorf("it notes %s, and has %s", note, fits)
	}
	if o := OptionsOf(after.Object); o != (Options{Suspend: true}) {
		t.Errorf("its options are %+v", o)
	}
	if _, was, _ := DigestOf(decodeWork(t, before).Object, "karmada-es-m1", after.GetName()); mustContent(t, after) != was {
		t.Error("its content has changed")
	}
	if f := after.GetFinalizers(); len(f) != 2 || f[0] != "other.example/keep" || after.GetResourceVersion() != "7" {
		t.Errorf("finalizers %v, version %s", f, after.GetResourceVersion())
	}
	bound := decodeWork(t, before)
	bound.SetLabels(map[string]string{bindingIDLabel: "x"})
	bound.SetAnnotations(with(bound.GetAnnotations(), bindingNameAnnotation, "page-configmap"))
	adopted := patched(t, mustEncode(bound.Object), next.Adjust("7", nil, nil, false, true))
	if _, isNoted := adopted.GetAnnotations()[WrittenAnnotation]; isNoted || ForeignMark(adopted.GetLabels(), nil).Text != "" || adopted.GetAnnotations()[bindingNameAnnotation] != "" || adopted.GetAnnotations()[SourceAnnotation] == "" {
		t.Errorf("it is not adopted: labels %v, annotations %v", adopted.GetLabels(), adopted.GetAnnotations())
	}
}

func mustContent(t *testing.T, u *unstructured.Unstructured) Content {
	t.Helper()
	_, content, err := DigestOf(u.Object, u.GetNamespace(), u.GetName())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestResemble: what is written like the Work of another cluster is what its source would have made for
// this one.
func TestResemble(t *testing.T) {
	for name, o := range map[string]Options{"Plain": {}, "Optional": {Suspend: true, PreserveOnDeletion: true, Overwrite: true}} {
		t.Run(name, func(t *testing.T) {
			template, _ := notedWork(t, "m1", "a", o)
			_, other := notedWork(t, "m2", "a", Options{PreserveOnDeletion: !o.PreserveOnDeletion, Overwrite: o.Overwrite}) // its own options do not matter
			like := decodeWork(t, other)
			like.SetAnnotations(with(like.GetAnnotations(), "other.example/note", "x"))
			like.SetLabels(with(like.GetLabels(), "other.example/label", "x"))
			like.Object["status"] = map[string]any{"conditions": []any{}}
			made, err := Resemble(like.Object, Likeness{Cluster: "m1", Name: like.GetName(), Generation: 1, Options: o})
			if err != nil {
				t.Fatal(err)
			}
			wantSameWork(t, decodeWork(t, made), decodeWork(t, template.Work("m1")))
			_, edited := notedWork(t, "m1", "by hand", Options{Suspend: true})
			there := decodeWork(t, edited)
			there.SetAnnotations(with(there.GetAnnotations(), ShareAnnotation, "3"))
			before, err := there.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			patch, err := Resemble(like.Object, Likeness{"m1", like.GetName(), "7", there.GetFinalizers(), 1, o})
			if err != nil {
				t.Fatal(err)
			}
			after := patched(t, before, patch)
			if after.GetResourceVersion() != "7" {
				t.Error("it overwrites whatever is there")
			}
			after.SetResourceVersion("")
			wantSameWork(t, after, decodeWork(t, template.Work("m1")))
		})
	}
	if _, err := Resemble(map[string]any{"spec": map[string]any{}}, Likeness{Cluster: "m1"}); err == nil {
		t.Error("a Work without a manifest is copied")
	}
}

func with(all map[string]string, key, value string) map[string]string {
	all[key] = value
	return all
}

func wantSameWork(t *testing.T, got, want *unstructured.Unstructured) {
	t.Helper()
	g, errG := got.MarshalJSON()
	w, errW := want.MarshalJSON()
	if errG != nil || errW != nil || !jsonpatch.Equal(g, w) {
		t.Errorf("it is\n%s\nnot\n%s", g, w)
	}
}

// TestResembleBare: a Work that another user has written may have no annotations, and neither may its manifest.
func TestResembleBare(t *testing.T) {
	for name, annotations := range map[string]map[string]any{"Manifest": {SourceAnnotation: "ConfigMap/shop/page"}, "Work": nil} {
		metadata := map[string]any{"namespace": "shop", "name": "page"}
		if name == "Work" {
			metadata["annotations"] = map[string]any{}
		}
		work := map[string]any{
			"metadata": map[string]any{"namespace": "karmada-es-m1", "name": "x", "annotations": annotations},
			"spec":     map[string]any{"workload": map[string]any{"manifests": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}}},
		}
		if _, err := Resemble(work, Likeness{Cluster: "m2", Name: "x"}); !errors.Is(err, ErrNotOurForm) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
