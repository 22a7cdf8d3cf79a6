package state

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/render"
)

// related are other objects that an object names.
type related struct{ scales, owner render.Identity }

// relatedTo returns nil for an object that names none.
func relatedTo(u *unstructured.Unstructured) *related {
	scales := scaledBy(u)
	owner := metav1.GetControllerOfNoCopy(u)
	if u.GetAnnotations()["cronjob.kubernetes.io/instantiate"] == "manual" { // a user has made the Job, by kubectl create job --from
		owner = nil
	}
	if scales == nil && owner == nil {
		return nil
	}
	r := related{scales: *cmp.Or(scales, &render.Identity{})}
	if owner != nil {
		r.owner = render.Identity{Group: schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group, Kind: owner.Kind, Name: owner.Name}
	}
	return &r
}

// Scales returns the workload that the object scales; false if it is not an autoscaler.
func (o *Object) Scales() (id render.Identity, ok bool) {
	if o.related == nil {
		return id, false
	}
	return o.related.scales, o.related.scales != render.Identity{}
}

// Owner returns the object whose controller made this one; false if there is none. It has no namespace: it is in
// the object's, or cluster-scoped.
func (o *Object) Owner() (id render.Identity, ok bool) {
	if o.related == nil {
		return id, false
	}
	return o.related.owner, o.related.owner != render.Identity{}
}

// IsOwnedBy reports whether the controller of another object made this one.
func (o *Object) IsOwnedBy(id render.Identity) bool {
	owner, ok := o.Owner()
	owner.Namespace = id.Namespace
	return ok && owner == id && (id.Namespace == "" || id.Namespace == o.ID.Namespace)
}
