package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// Edit is what the Works of some clusters change in the manifest of their source. The zero value
// changes nothing. It is a value: nothing that it points to changes.
type Edit struct {
	// Member expands the variables in the manifest by what it says; nil leaves them alone.
	Member *Member
	// Share is what the cluster gets of the replicas; nil leaves their number as it is.
	Share *Share
	// Overrides are what Karmada's override policies change, after the above.
	Overrides override.Overrides
	// Strip removes labels and annotations at the end.
	Strip StripList
	// Noted: the Works note what was written. It changes nothing in the manifest.
	Noted bool
}

// Share is one cluster's part of a Scale.
type Share struct {
	Paths ScalePaths
	Scale Scale
}

// With returns the Template of the Works that an Edit changes. It fails if the Edit cannot be
// applied, and names the path.
func (t *Template) With(e Edit) (*Template, error) {
	edited, err := t.with(e)
	if err != nil || !e.Noted {
		return edited, err
	}
	noted := *edited
	noted.notes.Written = edited.Content().String()
	return &noted, nil
}

func (t *Template) with(e Edit) (*Template, error) {
	if !e.Changes(t.Manifest) {
		return t, nil
	}
	m, err := t.Manifest.edited(e)
	if err != nil {
		return nil, err
	}
	edited := m.template(t.name, t.options)
	edited.notes = e.Notes()
	edited.notes.Rendered = t.rendered(e.Key(t.Manifest), edited.digest)
	return edited, nil
}

// editVersion changes whenever an Edit makes something else of the same manifest than before:
// Works that an earlier version has written are then rendered again.
const editVersion = "2"

// rendered is the note of a Work that an Edit with this key has changed: what the Work was made
// from, and its digest.
func (t *Template) rendered(k EditKey, d Digest) string {
	sum := sha256.Sum256(slices.Concat([]byte(editVersion), t.digest[:], k[:]))
	note := make([]byte, 0, hex.EncodedLen(16)+1+hex.EncodedLen(len(d)))
	note = append(hex.AppendEncode(note, sum[:16]), '-')
	return string(hex.AppendEncode(note, d[:]))
}

// IsRendered reports whether a Work with these notes and this digest is what With would make of an
// Edit with this key: it says what it was made from, and has not been changed since. To believe it
// saves a restart from rendering everything. A forger must be able to write Works, and so anything
// in a member.
func (t *Template) IsRendered(k EditKey, n Notes, d Digest) bool {
	return k != (EditKey{}) && n.Rendered == t.rendered(k, d)
}

// Notes are what a Work says of the Edit that made it. The zero value is that of none.
type Notes struct {
	// OverriddenBy is the value of OverriddenByAnnotation, Share that of ShareAnnotation, Rendered
	// that of RenderedAnnotation, and Written is the content in WrittenAnnotation.
	OverriddenBy, Share, Rendered, Written string
	// Generation is the one in WrittenAnnotation.
	Generation int64
}

// OfEdit returns the notes without the one that only Works of sources in waves have.
func (n Notes) OfEdit() Notes {
	n.Written, n.Generation = "", 0
	return n
}

// writtenVersion changes whenever the same content gets another digest than before: what an earlier
// version has noted then says nothing.
const writtenVersion = "1"

// At returns the notes for a write that gives a Work a generation.
func (n Notes) At(generation int64) Notes {
	n.Generation = generation
	return n
}

// Renoted returns the annotation that notes the same content at a later generation.
func (n Notes) Renoted(generation int64) map[string]*string {
	return map[string]*string{WrittenAnnotation: new(n.At(generation).written())}
}

// written is the value of WrittenAnnotation.
func (n Notes) written() string {
	if n.Written == "" {
		return ""
	}
	return fmt.Sprintf("%s-%s-%d", writtenVersion, n.Written, n.Generation)
}

// Notes returns what the Works say of the Edit, except Rendered and Written.
func (e Edit) Notes() (n Notes) {
	if e.Share != nil {
		n.Share = strconv.FormatInt(e.Share.Scale.Replicas, 10)
	}
	var names []string
	for _, p := range e.Overrides.Policies() {
		names = append(names, p.String())
	}
	n.OverriddenBy = strings.Join(names, ",")
	return n
}

// NotesOf reads the annotations of a Work.
func NotesOf(annotations map[string]string) Notes {
	n := Notes{OverriddenBy: annotations[OverriddenByAnnotation], Share: annotations[ShareAnnotation], Rendered: annotations[RenderedAnnotation]}
	note, isOurs := strings.CutPrefix(annotations[WrittenAnnotation], writtenVersion+"-")
	content, generation, _ := strings.Cut(note, "-")
	if at := parseGeneration(generation); isOurs && at > 0 {
		n.Written, n.Generation = content, at
	}
	return n
}

// Replicas returns the noted share; false if there is none.
func (n Notes) Replicas() (share int64, ok bool) {
	share, err := strconv.ParseInt(n.Share, 10, 64)
	return share, err == nil
}

// Lack returns the policies that have changed the manifest by these notes, and not by others.
func (n Notes) Lack(now Notes) (lost []string) {
	current := strings.Split(now.OverriddenBy, ",")
	for _, name := range strings.Split(n.OverriddenBy, ",") {
		if name != "" && !slices.Contains(current, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

// annotations returns the annotations of a Work; those without a value are removed.
func (n Notes) annotations() map[string]*string {
	all := map[string]*string{}
	for key, value := range map[string]string{OverriddenByAnnotation: n.OverriddenBy, ShareAnnotation: n.Share, RenderedAnnotation: n.Rendered, WrittenAnnotation: n.written()} {
		all[key] = nil
		if value != "" {
			all[key] = &value
		}
	}
	return all
}

// Changes reports whether an Edit may change a manifest.
func (e Edit) Changes(m *Manifest) bool {
	return e.Member != nil && m.variables != nil || e.Share != nil || !e.Overrides.IsEmpty() || e.Strip.matches(m)
}

// Key identifies what an Edit makes of a manifest: equal keys mean the same.
func (e Edit) Key(m *Manifest) EditKey {
	if !e.Changes(m) {
		return EditKey{}
	}
	var parts []string
	if e.Member != nil && m.variables != nil {
		parts = append(parts, "expand") // an escaped variable has no value
		for _, name := range *m.variables {
			value, ok := e.Member.Says(name)
			parts = append(parts, strconv.FormatBool(ok), value)
		}
	}
	if e.Share != nil {
		parts = append(parts, fmt.Sprintf("%+v", *e.Share))
	}
	parts = append(parts, e.Overrides.Key())
	sum := sha256.Sum256(mustEncode([][]string{parts, e.Strip.Labels, e.Strip.Annotations}))
	return EditKey(sum[:16])
}

// EditKey is the key of an Edit; the zero value is that of one that changes nothing.
type EditKey [16]byte

// errToken refuses an Edit by which members would make a token that no one sees in the source.
var errToken = errors.New("overrides or variables make it the token of another ServiceAccount")

// edited returns the manifest that an Edit makes of this one. It is stripped and marked like the
// manifest of a source, so that an Edit cannot add what a source may not say.
func (m *Manifest) edited(e Edit) (*Manifest, error) {
	obj, err := m.Object()
	if err != nil {
		return nil, err
	}
	generation, account := obj.GetAnnotations()[templateGenerationAnnotation], accountOf(obj)
	for _, step := range m.stepsOf(e) {
		if err := step.apply(obj.Object); err != nil {
			return nil, err
		}
	}
	if err := validate(obj, m.id); err != nil {
		return nil, err
	}
	if isToken(obj) && (account == "" || accountOf(obj) != account) {
		return nil, errToken
	}
	stripEdited(obj.Object)
	mark(obj, m.uid, generation)
	edited := &Manifest{id: m.id, apiVersion: m.apiVersion, uid: m.uid, created: m.created}
	return edited, edited.read(obj)
}

// Scale reads how large the source is.
func (m *Manifest) Scale(p ScalePaths) (Scale, error) {
	obj, err := m.Object()
	if err != nil {
		return Scale{}, err
	}
	return p.Read(obj.Object)
}

// maxLabels is more than the labels of an object take: the API server accepts keys of 317
// characters, values of 63, and no more than etcd has room for.
const maxLabels = 2 << 20

// Selected returns what override policies select the source by.
func (m *Manifest) Selected() override.Object {
	var labels map[string]string
	// The labels come first in the rest, as an object whose beginning is written elsewhere.
	beginning := slices.Concat([]byte("{"), bytes.TrimPrefix(m.rest[:min(len(m.rest), maxLabels)], []byte(",")))
	if err := json.NewDecoder(bytes.NewReader(beginning)).Decode(&labels); err != nil {
		labels = nil // cannot happen: they were encoded here
	}
	return override.Object{APIVersion: m.apiVersion, Kind: m.id.Kind, Namespace: m.id.Namespace, Name: m.id.Name, Labels: labels, Stripped: strippedOf}
}

// Object decodes the manifest.
func (m *Manifest) Object() (*unstructured.Unstructured, error) {
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
func (s StripList) apply(obj map[string]any) {
	metadata := fieldsOf(obj["metadata"])
	for field, globs := range map[string][]string{"labels": s.Labels, "annotations": s.Annotations} {
		maps.DeleteFunc(fieldsOf(metadata[field]), func(key string, _ any) bool { return matchesAny(globs, key) })
	}
}

// keys returns the keys as they are.
func (k keyLists) keys() []string {
	var joined string
	_ = json.Unmarshal([]byte(k.plain), &joined) // it was encoded here
	return strings.Split(joined, ",")
}
