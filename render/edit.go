package render

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// Edit is what the Works of some clusters change in the manifest of their source. The zero value
// changes nothing. It is a value: nothing that it points to changes.
type Edit struct {
	// Member expands the variables in the manifest by what it says; nil leaves them alone.
	Member *Member
	// Share is what the cluster gets of the replicas; nil leaves their number as it is.
	Share *Share
	// Strip removes labels and annotations at the end.
	Strip StripList
}

// Share is one cluster's part of a Scale.
type Share struct {
	Paths ScalePaths
	Scale Scale
}

// With returns the Template of the Works that an Edit changes. It fails if the Edit cannot be
// applied, and names the path.
func (t *Template) With(e Edit) (*Template, error) {
	if !e.changes(t.Manifest) {
		return t, nil
	}
	m, err := t.Manifest.edited(e)
	if err != nil {
		return nil, err
	}
	edited := m.template(t.name, t.options)
	edited.notes = e.Notes()
	return edited, nil
}

// Notes are what a Work says of the Edit that made it. The zero value is that of none.
type Notes struct {
	// Share is the value of ShareAnnotation.
	Share string
}

// Notes returns what the Works say of the Edit.
func (e Edit) Notes() (n Notes) {
	if e.Share != nil {
		n.Share = strconv.FormatInt(e.Share.Scale.Replicas, 10)
	}
	return n
}

// NotesOf reads the annotations of a Work.
func NotesOf(annotations map[string]string) Notes {
	return Notes{Share: annotations[ShareAnnotation]}
}

// Replicas returns the noted share; false if there is none.
func (n Notes) Replicas() (share int64, ok bool) {
	share, err := strconv.ParseInt(n.Share, 10, 64)
	return share, err == nil
}

// annotations returns the annotations of a Work; those without a value are removed.
func (n Notes) annotations() map[string]*string {
	all := map[string]*string{ShareAnnotation: nil}
	if n.Share != "" {
		all[ShareAnnotation] = &n.Share
	}
	return all
}

// Variant is what an Edit makes of a manifest, as far as it must be known to tell whether a Work
// is as it should be: to remember it takes less room than the edited manifest.
type Variant struct {
	meaning Digest
	retains bool
	size    int
}

// Variant returns what an Edit makes of the manifest. It fails like Template.With.
func (m *Manifest) Variant(e Edit) (v Variant, err error) {
	if e.changes(m) {
		if m, err = m.edited(e); err != nil {
			return Variant{}, err
		}
	}
	return Variant{m.meaning, m.retains, m.Size()}, nil
}

// Digest is the digest of the Works with these options.
func (v Variant) Digest(o Options) Digest { return o.retaining(v.retains).digest(v.meaning) }

// Size is about how many bytes each Work takes.
func (v Variant) Size() int { return v.size }

// changes reports whether an Edit may change a manifest.
func (e Edit) changes(m *Manifest) bool {
	return e.Member != nil && m.variables != nil || e.Share != nil || e.Strip.matches(m)
}

// Key identifies what an Edit makes of a manifest: equal keys mean the same.
func (e Edit) Key(m *Manifest) EditKey {
	if !e.changes(m) {
		return EditKey{}
	}
	var parts []string
	if e.Member != nil && m.variables != nil {
		for _, name := range *m.variables {
			value, ok := e.Member.Says(name)
			parts = append(parts, fmt.Sprint(ok), value)
		}
	}
	if e.Share != nil {
		parts = append(parts, fmt.Sprintf("%+v", *e.Share))
	}
	sum := sha256.Sum256(mustEncode([][]string{parts, e.Strip.Labels, e.Strip.Annotations}))
	return EditKey(sum[:16])
}

// EditKey is the key of an Edit; the zero value is that of one that changes nothing.
type EditKey [16]byte

// edited returns the manifest that an Edit makes of this one. It is stripped and marked like the
// manifest of a source, so that an Edit cannot add what a source may not say.
func (m *Manifest) edited(e Edit) (*Manifest, error) {
	obj, err := m.decode()
	if err != nil {
		return nil, err
	}
	generation := obj.GetAnnotations()[templateGenerationAnnotation]
	if e.Member != nil && m.variables != nil {
		if err := expand(obj.Object, e.Member); err != nil {
			return nil, err
		}
	}
	if e.Share != nil {
		if err := e.Share.Paths.Set(obj.Object, e.Share.Scale); err != nil {
			return nil, err
		}
	}
	if err := validate(obj, m.id); err != nil {
		return nil, err
	}
	Strip(obj.Object)
	e.Strip.apply(obj)
	mark(obj, m.uid, generation)
	edited := &Manifest{id: m.id, uid: m.uid, created: m.created}
	return edited, edited.read(obj)
}

// Scale reads how large the source is.
func (m *Manifest) Scale(p ScalePaths) (Scale, error) {
	obj, err := m.decode()
	if err != nil {
		return Scale{}, err
	}
	return p.Read(obj.Object)
}

// decode returns the manifest as an object.
func (m *Manifest) decode() (*unstructured.Unstructured, error) {
	encoded := slices.Concat([]byte(`{"metadata":{"annotations":{"`+headAnnotations[0]+`":""`), m.annotations, []byte(`,"labels":{"`+managedLabel+`":"`+managedLabelValue+`"`), m.rest)
	u := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(encoded, &u.Object); err != nil {
		return nil, fmt.Errorf("cannot decode the manifest: %w", err)
	}
	if m.retains {
		labels := u.GetLabels()
		labels[retainReplicasLabel] = retainReplicas
		u.SetLabels(labels)
	}
	return u, nil
}

// StripList are globs of the keys of labels and annotations that never leave the control plane.
type StripList struct{ Labels, Annotations []string }

// matches reports whether anything in a manifest would be removed.
func (s StripList) matches(m *Manifest) bool {
	return s.Labels != nil && slices.ContainsFunc(m.labelKeys.keys(), func(key string) bool { return matchesAny(s.Labels, key) }) ||
		s.Annotations != nil && slices.ContainsFunc(m.annotationKeys.keys(), func(key string) bool { return matchesAny(s.Annotations, key) })
}

// apply removes the labels and annotations of an object whose keys match.
func (s StripList) apply(obj *unstructured.Unstructured) {
	without := func(all map[string]string, globs []string) map[string]string {
		maps.DeleteFunc(all, func(key, _ string) bool { return matchesAny(globs, key) })
		return all
	}
	obj.SetLabels(without(obj.GetLabels(), s.Labels))
	obj.SetAnnotations(without(obj.GetAnnotations(), s.Annotations))
}

// keys returns the keys as they are.
func (k keyLists) keys() []string {
	var joined string
	_ = json.Unmarshal([]byte(k.plain), &joined) // it was encoded here
	return strings.Split(joined, ",")
}
