package apiserver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// optimisticLock is OptimisticLockErrorMsg of apiserver's pkg/registry/generic/registry.
const optimisticLock = "the object has been modified; please apply your changes to the latest version and try again"

// The operations of admission.
const (
	opCreate = "CREATE"
	opUpdate = "UPDATE"
	opDelete = "DELETE"
)

// write is what distinguishes the requests that end in the same write.
type write struct {
	subresource string
	dryRun      bool
	// replaces is a PUT: an object that does not exist is created, if the resource allows it,
	// and a UID is a precondition.
	replaces bool
	// undecodable makes the error of a patch whose result is no object of the kind.
	undecodable func(error) error
}

// Create stores a new object, with a generated name if it has metadata.generateName.
func (s *Store) Create(gr schema.GroupResource, o Object) (Object, error) {
	return object(s.create(gr, runtime.DeepCopyJSON(o), write{}))
}

// Update replaces an object, or the part of it that is a subresource. A resource version in it
// is a precondition; without one the last state is replaced, whatever it is.
func (s *Store) Update(gr schema.GroupResource, o Object, subresource string) (Object, error) {
	m := metadata(o)
	r := Ref{gr, text(m, "namespace"), text(m, "name")}
	return object(s.update(r, write{subresource: subresource, replaces: true}, func(_ *collection, old *revision) (Object, error) {
		return withVersion(runtime.DeepCopyJSON(o), old), nil
	}))
}

// Modify reads, changes and writes an object.
func (s *Store) Modify(r Ref, subresource string, change func(o Object)) (Object, error) {
	return object(s.update(r, write{subresource: subresource}, func(_ *collection, old *revision) (Object, error) {
		o := runtime.DeepCopyJSON(old.object)
		change(o)
		return o, nil
	}))
}

func object(v *revision, err error) (Object, error) {
	if err != nil {
		return nil, err
	}
	return v.object, nil
}

// withVersion fills in the version of the object to replace, if there is none.
func withVersion(o Object, old *revision) Object {
	if m := metadata(o); old != nil && m != nil && text(m, "resourceVersion") == "" {
		m["resourceVersion"] = metadata(old.object)["resourceVersion"]
	}
	return o
}

func (s *Store) create(gr schema.GroupResource, o Object, w write) (*revision, error) {
	defer s.tell()
	for attempt := 0; ; attempt++ {
		c := s.collection(gr)
		if c == nil {
			return nil, errNotServed(gr)
		}
		v, generated, err := s.newborn(c, runtime.DeepCopyJSON(o), w)
		if err != nil {
			return nil, err
		}
		old := s.get(Ref{gr, v.namespace, v.name})
		if old == nil {
			if w.dryRun {
				return v, nil
			}
			if ok, stored := s.commit(c, nil, v); ok {
				return stored, nil
			}
			continue
		}
		if !generated {
			err := apierrors.NewAlreadyExists(gr, v.name)
			if terminating(old.object) {
				err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
			}
			return nil, err
		}
		if attempt == 7 {
			return nil, apierrors.NewGenerateNameConflict(gr, v.name, 1)
		}
	}
}

// newborn is the state that a creation stores.
func (s *Store) newborn(c *collection, o Object, w write) (v *revision, generated bool, err error) {
	o, m, err := c.decode(o)
	if err != nil {
		return nil, false, c.errUndecodable(err)
	}
	s.begin(m, w)
	if err := s.checkNamespace(c, m, opCreate); err != nil {
		return nil, false, err
	}
	c.encodeMeta(o, m)
	if o, m, err = s.mutate(c, opCreate, w, o, m, nil); err != nil {
		return nil, false, err
	}
	if generated = m.Name == "" && m.GenerateName != ""; generated {
		m.Name = generateName(m.GenerateName, string(m.UID))
	}
	if c.Generation {
		m.Generation = 1
	}
	if c.Status {
		c.dropStatus(o)
	}
	c.encodeMeta(o, m)
	if err := c.complete(o, nil, w); err != nil {
		return nil, false, err
	}
	errs := validation.ValidateObjectMetaAccessor(m, c.Namespaced, c.validateName, field.NewPath("metadata"))
	if len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(c.groupKind(), m.Name, errs)
	}
	if m.ResourceVersion != "" && m.ResourceVersion != "0" && !w.dryRun {
		return nil, false, errors.New("resourceVersion should not be set on objects to be created")
	}
	stamp(o, nil, w, s.now())
	v, err = c.fits(o)
	return v, generated, err
}

// begin fills in what the server decides (rest.FillObjectMetaSystemFields).
func (s *Store) begin(m *metav1.ObjectMeta, w write) {
	s.mu.Lock()
	s.created++
	n := s.created
	s.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s", n, m.Namespace, m.Name))
	m.UID = types.UID(fmt.Sprintf("%x-%x-4%03x-8%03x-%x", sum[:4], sum[4:6], sum[6], sum[7], sum[8:14]))
	m.CreationTimestamp = s.now()
	if !w.replaces { // a PUT forgets it
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds = nil, nil
	}
}

// generateName is apiserver's names.SimpleNameGenerator, without chance.
func generateName(base, uid string) string {
	return base[:min(len(base), 58)] + rand.SafeEncodeString(uid[:5])
}

func (s *Store) update(r Ref, w write, change func(*collection, *revision) (Object, error)) (*revision, error) {
	defer s.tell()
	for {
		c := s.collection(r.Resource)
		if c == nil {
			return nil, errNotServed(r.Resource)
		}
		old := s.get(r)
		if old == nil && !(w.replaces && c.CreateOnUpdate && w.subresource == "") {
			return nil, apierrors.NewNotFound(r.Resource, r.Name)
		}
		o, err := change(c, old)
		if err != nil {
			return nil, err
		}
		if old == nil {
			if uid := text(metadata(o), "uid"); uid != "" {
				return nil, c.errOtherUID(newRevision(o), uid, "")
			}
			if !w.dryRun {
				delete(metadata(o), "resourceVersion")
			}
			return s.create(r.Resource, o, w)
		}
		o, m, err := s.successor(c, o, old, w)
		if err != nil {
			return nil, err
		}
		v, err := c.fits(o)
		if err != nil {
			return nil, err
		}
		if w.dryRun || equal(o, old.object) && !ends(c, o, m, old) {
			return v, nil
		}
		stamp(o, old.object, w, s.now())
		next := v
		if ends(c, o, m, old) {
			next = nil
		}
		if ok, stored := s.commit(c, old, next); ok {
			if next == nil {
				return v, nil
			}
			return stored, nil
		}
	}
}

// successor is the state that an update stores.
func (s *Store) successor(c *collection, o Object, old *revision, w write) (Object, *metav1.ObjectMeta, error) {
	gr := c.GroupResource()
	o, m, err := c.decode(o)
	if err != nil && w.undecodable != nil {
		err = w.undecodable(err)
	} else if err != nil {
		err = c.errUndecodable(err)
	}
	if err != nil {
		return nil, nil, err
	}
	before := old.decodedMeta()
	if w.replaces && m.UID != "" && m.UID != before.UID {
		return nil, nil, c.errOtherUID(old, string(m.UID), string(before.UID))
	}
	if err := s.checkNamespace(c, m, opUpdate); err != nil {
		return nil, nil, err
	}
	if o, m, err = s.mutate(c, opUpdate, w, o, m, old.object); err != nil {
		return nil, nil, err
	}
	switch m.ResourceVersion {
	case before.ResourceVersion:
	case "", "0":
		errs := field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), uint64(0), "must be specified for an update")}
		return nil, nil, apierrors.NewInvalid(schema.GroupKind{Group: c.Group, Kind: c.Resource.Resource}, old.name, errs)
	default:
		return nil, nil, apierrors.NewConflict(gr, old.name, errors.New(optimisticLock))
	}
	m.Generation = before.Generation
	o, m = c.restrict(o, m, old.object, before, w)
	inherit(m, before)
	errs := validation.ValidateObjectMetaAccessor(m, c.Namespaced, pathSegment, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(m, before, field.NewPath("metadata"))...)
	if len(errs) > 0 {
		return nil, nil, apierrors.NewInvalid(c.groupKind(), old.name, errs)
	}
	c.encodeMeta(o, m)
	return o, m, c.complete(o, old.object, w)
}

//lint:ignore SA1019 what replaces it is not there yet in Karmada's version of apimachinery, with which sandbox/pinned compiles this
var pathSegment = path.ValidatePathSegmentName

// errOtherUID is the failed precondition of a PUT.
func (c *collection) errOtherUID(v *revision, wanted, uid string) error {
	return apierrors.NewConflict(c.GroupResource(), v.name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s", c.Resource.Resource, v.key, wanted, uid))
}

// inherit keeps what no update changes (rest.BeforeUpdate).
func inherit(m, before *metav1.ObjectMeta) {
	if m.UID == "" {
		m.UID = before.UID
	}
	m.ManagedFields = before.ManagedFields
	if !before.CreationTimestamp.IsZero() {
		m.CreationTimestamp = before.CreationTimestamp
	}
	if !before.DeletionTimestamp.IsZero() {
		m.DeletionTimestamp = before.DeletionTimestamp
	}
	if before.DeletionGracePeriodSeconds != nil && m.DeletionGracePeriodSeconds == nil {
		m.DeletionGracePeriodSeconds = before.DeletionGracePeriodSeconds
	}
}

// restrict limits an update to its part of the object, and counts the generation.
func (c *collection) restrict(o Object, m *metav1.ObjectMeta, old Object, before *metav1.ObjectMeta, w write) (Object, *metav1.ObjectMeta) {
	status, has := o["status"]
	switch {
	case w.subresource == "status":
		next := Object{}
		for key, value := range old {
			next[key] = value
		}
		if delete(next, "status"); has {
			next["status"] = status
		}
		if c.Custom {
			kept := *before.DeepCopy()
			kept.ResourceVersion = m.ResourceVersion
			m = &kept
		}
		return next, m
	case c.Status:
		if delete(o, "status"); old["status"] != nil {
			o["status"] = old["status"]
		}
	}
	if c.Generation && (!c.sameSpec(o, old) || c.AnnotationsCount && !maps.Equal(m.Annotations, before.Annotations)) {
		m.Generation++
	}
	return o, m
}

// ends says that an update deletes the object: its last finalizer has gone.
func ends(c *collection, o Object, m *metav1.ObjectMeta, old *revision) bool {
	before := metadata(old.object)
	if len(m.Finalizers) > 0 || before["deletionTimestamp"] == nil || m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds != 0 {
		return false
	}
	return !isNamespaces(c) || len(namespaceFinalizers(o)) == 0
}

// mutate calls the webhooks.
func (s *Store) mutate(c *collection, op string, w write, new Object, m *metav1.ObjectMeta, old Object) (Object, *metav1.ObjectMeta, error) {
	s.mu.Lock()
	admissions := s.admissions
	s.mu.Unlock()
	var err error
	for _, a := range admissions {
		if new, err = (*a)(op, c.GroupResource(), w.subresource, new, old); err != nil {
			return nil, nil, err
		}
	}
	if len(admissions) == 0 {
		return new, m, nil
	}
	return c.decode(new)
}

// complete sets what the server fills in, and checks what it checks.
func (c *collection) complete(o, old Object, w write) error {
	if isNamespaces(c) {
		completeNamespace(o, old, w)
	}
	if c.Validate != nil {
		return c.Validate(o, old)
	}
	return nil
}

func (c *collection) dropStatus(o Object) {
	if _, typed := o["status"].(map[string]any); typed && !c.Custom {
		o["status"] = map[string]any{}
		return
	}
	delete(o, "status")
}

func (c *collection) validateName(name string, prefix bool) []string {
	switch {
	case isNamespaces(c):
		return validation.ValidateNamespaceName(name, prefix)
	case c.Group == "rbac.authorization.k8s.io" || c.Kind == "Event":
		return pathSegment(name, prefix)
	}
	return validation.NameIsDNSSubdomain(name, prefix)
}

func errNotServed(gr schema.GroupResource) error {
	return apierrors.NewGenericServerResponse(404, "", gr, "", "", 0, true)
}
