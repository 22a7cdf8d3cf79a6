package state

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// own finds out who owns the Work, and is the only place that does. Labels alone prove
// nothing: the source annotation must match the Work's name, and the Work must carry that
// source. Karmada's own controllers write their content into a Work that has the name they
// need, and leave our marks on it.
func (w *Work) own(obj *unstructured.Unstructured) {
	mark := render.ForeignMark(obj.GetLabels(), obj.GetOwnerReferences())
	if mark.Binding {
		w.specMarks |= bound
	}
	annotations := obj.GetAnnotations()
	w.Source = w.identity(annotations[render.SourceAnnotation])
	_, named := annotations[render.SourceAnnotation]
	switch {
	case mark.Text != "":
		w.Foreign = mark.Text
	case !named:
		w.Foreign = "it has no annotation " + render.SourceAnnotation
	case w.Source == render.Identity{}:
		w.Foreign = fmt.Sprintf("its annotation %s does not match its name", render.SourceAnnotation)
	case render.CarriedBy(obj.Object) != w.Source:
		w.Foreign = "it carries " + nameOf(render.CarriedBy(obj.Object)) + " instead of its source"
	}
}

func nameOf(carried render.Identity) string {
	if carried == (render.Identity{}) {
		return "nothing that can be identified"
	}
	return carried.String()
}

// other returns what the Work carries, if that is not its source.
func (w *Work) other(obj *unstructured.Unstructured) *render.Identity {
	if carried := render.CarriedBy(obj.Object); carried != w.Source || carried == (render.Identity{}) {
		return &carried
	}
	return nil
}

func (w *Work) ownersOf(obj *unstructured.Unstructured) *[]metav1.OwnerReference {
	if owners := render.OwnersOf(obj); owners != nil && w.NamesSource() {
		return &owners
	}
	return nil
}

// handedBy returns the source whose Work this was, if it may be taken back.
func (w *Work) handedBy(obj *unstructured.Unstructured) render.Identity {
	if mark := render.ForeignMark(obj.GetLabels(), obj.GetOwnerReferences()); mark.Text != "" && !mark.Binding {
		return render.Identity{}
	}
	return w.identity(obj.GetAnnotations()[render.HandoverAnnotation])
}

// boundTo returns the name of the binding that took over the Work, if the Work says it.
func (w *Work) boundTo(obj *unstructured.Unstructured) types.NamespacedName {
	if !w.Bound() {
		return types.NamespacedName{}
	}
	namespace, name, ok := render.BoundTo(obj.GetAnnotations())
	if !ok {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// scaledBy returns the workload that the Work's autoscaler scales, if it carries one.
func (w *Work) scaledBy(obj *unstructured.Unstructured) render.Identity {
	if !IsAutoscaler(w.Source.GroupKind()) {
		return render.Identity{}
	}
	manifest, _ := render.ManifestOf(obj.Object)
	if scaled := scaledBy(&unstructured.Unstructured{Object: manifest}); scaled != nil {
		return *scaled
	}
	return render.Identity{}
}

// identity parses an annotation that names a source, and checks that the Work can
// belong to that source.
func (w *Work) identity(value string) render.Identity {
	id, err := render.ParseIdentity(value)
	if err != nil || id.WorkName() != w.Name && id.LongWorkName() != w.Name || w.Cluster == "" {
		return render.Identity{}
	}
	return sharedIdentity(id)
}

// NamesSource reports whether the Work says which source it belongs to.
func (w *Work) NamesSource() bool { return w.Source != render.Identity{} }

// Carries returns the object that the Work carries, no matter who owns the Work; the zero
// value if that cannot be identified.
func (w *Work) Carries() render.Identity {
	if w.rare != nil && w.carries != nil {
		return *w.carries
	}
	return w.Source
}

// IsOverwritten reports whether the Work names a source but carries another object: another
// controller that needed the name wrote it there, and did not remove our marks.
func (w *Work) IsOverwritten() bool {
	return w.NamesSource() && w.Carries() != w.Source && w.Carries() != render.Identity{}
}

// Owners returns the owner references that the Work should have once released; nil to keep
// those that it has.
func (w *Work) Owners() []metav1.OwnerReference {
	if w.rare == nil || w.owners == nil {
		return nil
	}
	return *w.owners
}

// Binding returns the name of the binding that took over the Work; the zero value if it is
// not known. The namespace is empty for a ClusterResourceBinding.
func (w *Work) Binding() types.NamespacedName {
	if w.rare == nil {
		return types.NamespacedName{}
	}
	return w.binding
}

// IsAsOwned reports whether the Work is the one that it was before, still has the same source and owner,
// and carries the same object.
func (w *Work) IsAsOwned(before *Work) bool {
	return w.UID == before.UID && w.Source == before.Source && w.Foreign == before.Foreign && w.Carries() == before.Carries()
}

// IsOursFor reports whether the Work is ours, and of that source.
func (w *Work) IsOursFor(source render.Identity) bool {
	return w.Source == source && w.Labelled && w.Foreign == ""
}

// IsLong reports whether the Work has the longer name.
func (w *Work) IsLong() bool { return w.NamesSource() && w.Name != w.Source.WorkName() }

// HandedBy reports whether this was the Work of a source until a policy claimed that.
func (w *Work) HandedBy(id render.Identity) bool { return w.rare != nil && w.handed == id }

// Scales returns the workload that the Work's autoscaler scales in its cluster; false if it
// carries none.
func (w *Work) Scales() (id render.Identity, ok bool) {
	if w.rare == nil || w.scales == (render.Identity{}) {
		return render.Identity{}, false
	}
	return w.scales, true
}
