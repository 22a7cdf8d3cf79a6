package state

import (
	"crypto/sha256"
	"math"
	"slices"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/render/aggregate"
)

// Work is what the cache keeps of a Work. There are very many: each takes 288 bytes, a size of
// the allocator.
type Work struct {
	Meta
	Generation int64
	Finalizers []string
	// Cluster is the member cluster; empty outside an execution namespace.
	Cluster string
	// Source is the source that the Work names, checked against the Work's name;
	// the zero value if it names none, or an impossible one.
	Source render.Identity
	// sourceUID is the hash of that source's UID. sourceCreated is when the source was
	// created or, if the Work does not say, when the Work was, which is later.
	sourceUID     uidHash
	sourceCreated seconds
	// State is how far Karmada has got with it.
	State WorkState
	// Labelled: it has the label by which we claim Works. A Work that is ours by
	// its annotation but not labelled is repaired, never deleted.
	Labelled bool
	// Findable: it has the label by which users look up the Works of a source.
	Findable bool
	specMarks
	// Foreign is why the Work is not ours to touch; empty if it is ours. A foreign
	// Work may still name a source.
	Foreign string
	// rare is what only few Works have; nil for the others.
	*rare
	// Held is the mark of the deletion breaker; nil if there is none.
	Held *render.Hold
	// Digest is the digest of the Work's meaning; zero if its spec is not in our form.
	Digest render.Digest
	// version is that of the object which the Work carries.
	version unique.Handle[string]
	// immutable is what no one can change in it.
	immutable render.Immutable
	// needs are the objects that its Pods need, as text: many Works share it.
	needs unique.Handle[string]
	// replicas is how many replicas that object has, and 1; 0 if that is not known.
	replicas uint32
	// memberGeneration is that of the object in the member; 0 if Karmada does not report it.
	memberGeneration uint32
}

// Version returns the API version, without the group, of the object that the Work carries; empty if that is not
// known, or is what a binding has written.
func (w *Work) Version() string {
	if w.version == (unique.Handle[string]{}) {
		return ""
	}
	return w.version.Value()
}

// usualReplicasPath is where most custom kinds have their replicas. Their definition is not at hand.
const usualReplicasPath = ".spec.replicas"

// Replicas returns how many replicas the object has that the Work carries; false if that is not known: of a kind that is not
// built in and has them elsewhere, for example.
func (w *Work) Replicas() (replicas int64, ok bool) {
	return max(0, int64(w.replicas)-1), w.replicas > 0
}

// Share returns what the Work says of its share of the replicas, and of the completions; false if it is not known.
func (w *Work) Share() (share render.Scale, ok bool) {
	if w.rare != nil {
		share.Completions = w.completions
	}
	if share.Replicas, ok = w.Notes().Replicas(); !ok {
		share.Replicas, ok = w.Replicas()
	}
	return share, ok
}

// rare is what a Work names besides its source.
type rare struct {
	// handed is the source whose Work this was until a policy claimed the source. The Work
	// is ours again once only a leftover binding holds it. It is the zero value if the Work
	// was never ours, or if another controller holds it.
	handed render.Identity
	// scales is the workload that its autoscaler scales, if it carries one.
	scales render.Identity
	// carries is what it carries, if that is not its Source; the zero value if that cannot be
	// identified.
	carries *render.Identity
	// binding is the binding that took it over.
	binding types.NamespacedName
	// owners are the owner references that it should have once released, if it carries a
	// Namespace of another owner; nil to keep those that it has.
	owners *[]metav1.OwnerReference
	// notes are what it says of what was edited for its cluster, and asWritten that its content is
	// the one that it notes. suspended is as if it were not being deleted.
	notes                render.Notes
	asWritten, suspended bool
	// trouble is what Karmada reports that keeps it from being well, and generation that of the source
	// from which its content was made: if it notes what was written, because only waves ask.
	trouble    string
	generation int64
	// pods are how many Pods the workload has in the member, and kept how many of them are new and
	// available; for waves as well.
	pods, kept int64
	// completions are those of the Job that it carries, if it notes a share.
	completions int64
}

// NewWork reduces a Work to what the cache keeps of it.
func NewWork(obj *unstructured.Unstructured) *Work {
	return newWork(obj, readWork)
}

func newWork(obj *unstructured.Unstructured, read func(*unstructured.Unstructured, Work) *Work) *Work {
	bare := newBareWork(obj)
	return guarded(
		func() *Work { return read(obj, *bare) },
		func(cause string) *Work { bare.Foreign = cause; return bare })
}

func readWork(obj *unstructured.Unstructured, bare Work) *Work {
	w := &bare
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	w.sourceUID, w.State = hashUID(types.UID(annotations[render.SourceUIDAnnotation])), stateOf(obj)
	created, err := time.Parse(time.RFC3339, annotations[render.SourceCreatedAnnotation])
	if err != nil {
		created = obj.GetCreationTimestamp().Time
	}
	w.sourceCreated = secondsOf(created)
	w.written = lastWritten(obj)
	w.specMarks, w.memberGeneration = marksOf(obj), memberGenerationOf(obj)
	w.own(obj)
	var scale render.Scale
	if manifest, err := render.ManifestOf(obj.Object); err == nil {
		if carried := (&unstructured.Unstructured{Object: manifest}); !render.ForeignMark(carried.GetLabels(), nil).Binding { // never what we write
			w.version = unique.Make(carried.GroupVersionKind().Version)
		}
		if render.UIDOf(manifest) == types.UID(annotations[render.SourceUIDAnnotation]) { // otherwise, someone has edited one of the two
			w.immutable = render.ImmutableOf(manifest)
		}
		w.needs = needsOf(manifest, w.Source)
		paths, _ := render.ScalePathsOf(w.Source.GroupKind(), usualReplicasPath)
		if scale, err = paths.Read(manifest); err == nil && scale.Replicas >= 0 && scale.Replicas < math.MaxUint32 {
			w.replicas = uint32(scale.Replicas) + 1
		}
	}
	digest, content, err := render.DigestOf(obj.Object, w.Namespace, w.Name)
	if err == nil { // a spec that is not in our form has the zero digest, which no template has
		w.Digest = digest
	}
	notes := render.NotesOf(annotations)
	of := rare{
		handed: w.handedBy(obj), scales: w.scaledBy(obj), carries: w.other(obj), binding: w.boundTo(obj), owners: w.ownersOf(obj),
		notes: notes, asWritten: err == nil && notes.Written != "" && notes.Written == content.String(),
	}
	if notes.Share != "" {
		of.completions = scale.Completions
	}
	isNoted := annotations[render.WrittenAnnotation] != ""
	of.suspended = (isNoted || w.Terminating) && dispatchStateOf(obj) == WorkSuspended
	if isNoted {
		of.trouble, of.generation = troubleOf(obj), generationOf(obj)
		of.pods, of.kept = aggregate.PodsOf(w.Source.GroupKind(), ReportedBy(obj))
	}
	w.note(of)
	if held, ok := render.ParseHold(annotations); ok {
		w.Held = &held
	}
	w.Labelled = labels[render.ManagedByLabel] == render.ManagedByValue
	w.Findable = labels[render.SourceIDLabel] == w.Source.ID()
	return w
}

func newBareWork(obj *unstructured.Unstructured) *Work {
	w := &Work{
		Meta:       keepMeta(obj),
		Generation: obj.GetGeneration(),
		Finalizers: sharedFinalizers(obj.GetFinalizers()),
	}
	w.Cluster, _ = render.ClusterOf(w.Namespace) // a substring of Namespace
	return w
}

func (w *Work) note(r rare) {
	if r != (rare{}) {
		w.rare = &r
	}
}

// lastWritten returns when the metadata or the spec of an object was last written, no
// matter by whom.
func lastWritten(obj *unstructured.Unstructured) seconds {
	last := lastOf(obj, nil)
	if created := obj.GetCreationTimestamp().Time; created.After(last) {
		last = created
	}
	return secondsOf(last)
}

// lastOf returns when a subresource of an object was last written, by its managed fields; nil is
// the object itself. It is zero if that is not known.
func lastOf(obj *unstructured.Unstructured, subresource any) (last time.Time) {
	field, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	entries, _ := field.([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text, _ := fields["time"].(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && fields["subresource"] == subresource && at.After(last) {
			last = at
		}
	}
	return last
}

// IsMadeFrom reports whether the Work says that it was made from the source with this
// UID.
func (w *Work) IsMadeFrom(uid types.UID) bool { return w.sourceUID == hashUID(uid) }

// Bars reports whether the object that the Work carries cannot become one with these immutable fields.
func (w *Work) Bars(next render.Immutable) bool { return w.immutable.Bars(next) }

// SourceGeneration returns the generation of the source from which the content was made, if the Work
// notes what was written to it; 0 if it does not say.
func (w *Work) SourceGeneration() int64 {
	if w.rare == nil {
		return 0
	}
	return w.generation
}

// SourceCreated returns when the Work's source was created, or a later time.
func (w *Work) SourceCreated() time.Time { return w.sourceCreated.time() }

// Written returns when the metadata or the spec of the Work was last written, no matter by whom.
func (w *Work) Written() time.Time { return w.written.time() }

// IsWell reports whether Karmada has applied the Work and, as far as it reports that, the member has
// rolled out what it carries and is healthy.
func (w *Work) IsWell() bool { return w.State == WorkApplied && !w.IsBehind() }

// Pods returns how many Pods the workload has in the member, if the Work notes what was written to it.
func (w *Work) Pods() int64 {
	if w.rare == nil {
		return 0
	}
	return w.pods
}

// maxNeeds bounds what is kept of what Pods need. One with more may need anything.
const maxNeeds = 100

// anything is the text of more than maxNeeds needs.
const anything = "*"

// needsOf returns what the Pods of a workload need as text, a kind and a name in each line; the zero value for nothing.
func needsOf(manifest map[string]any, id render.Identity) (needs unique.Handle[string]) {
	var lines []string
	for _, needed := range render.NeedsOf(manifest, id) {
		lines = append(lines, needed.Kind+" "+needed.Name)
	}
	switch {
	case len(lines) == 0:
		return needs
	case len(lines) > maxNeeds:
		lines = []string{anything}
	}
	return unique.Make(strings.Join(lines, "\n"))
}

// Needs returns the objects that the Pods of the workload need in the member, unless they are so many that they MayNeedAnything.
func (w *Work) Needs() (all []render.Identity) {
	if w == nil || w.needs == (unique.Handle[string]{}) || w.MayNeedAnything() {
		return nil
	}
	for line := range strings.Lines(w.needs.Value()) {
		kind, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, render.Identity{Kind: kind, Namespace: w.Source.Namespace, Name: name})
	}
	return all
}

// MayNeedAnything reports whether the Pods need so many objects that they are not kept.
func (w *Work) MayNeedAnything() bool {
	return w.needs != (unique.Handle[string]{}) && w.needs.Value() == anything
}

// MayNeed reports whether the Pods may need an object of a kind that Pods need.
func (w *Work) MayNeed(id render.Identity) bool {
	return w.MayNeedAnything() && w.Source.Namespace == id.Namespace || slices.Contains(w.Needs(), id)
}

// HasKept reports whether a workload, of which so many Pods were new and available, has all of these, but for
// those that it no longer should have. All that can keep it from being well is Pods that were added, by an
// autoscaler for example.
func (w *Work) HasKept(pods int64) bool {
	return w.State == WorkApplied && w.Pods() > 0 && w.kept >= min(pods, w.pods)
}

// Trouble returns what Karmada reports that keeps the Work from being well, if it notes what was
// written to it; else nothing.
func (w *Work) Trouble() string {
	if w.rare == nil {
		return ""
	}
	return w.trouble
}

// IsOrphaning reports whether Karmada has yet to part the Work from its object, because the Work is
// being deleted and preserves it.
func (w *Work) IsOrphaning() bool {
	return w.Terminating && w.Preserves() && slices.Contains(w.Finalizers, render.ExecutionFinalizer)
}

// IsComplete reports whether our labels and the finalizer are as we write them.
func (w *Work) IsComplete() bool {
	return w.Labelled && w.Findable && slices.Contains(w.Finalizers, render.ExecutionFinalizer)
}

// uidHash stands for a UID that is only ever compared: as text it would take three times
// the space.
type uidHash [16]byte

func hashUID(uid types.UID) uidHash {
	sum := sha256.Sum256([]byte(uid))
	return uidHash(sum[:])
}

// seconds is a Unix time from 1970 to 2106. Earlier and later times are clamped to that range.
type seconds uint32

func secondsOf(t time.Time) seconds { return seconds(min(max(0, t.Unix()), math.MaxUint32)) }

func (s seconds) time() time.Time { return time.Unix(int64(s), 0) }

// MarkedResource returns the resource that the breaker has noted on a Work whose deletion it holds; the zero value if it has not.
func (w *Work) MarkedResource() (r schema.GroupResource) {
	if w.Held != nil {
		r = schema.ParseGroupResource(w.Held.Resource)
	}
	if r.Group != w.Source.Group {
		return schema.GroupResource{}
	}
	return r
}
