package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Wishes are what an object asks for by its annotations, or a Namespace for the
// objects in it. The zero value asks for nothing. Equal wishes mean the same.
type Wishes struct {
	clusters, selector, follows, suspend, preserve, conflict, replicas, expand, deletion, waves, bake, deadline wish
	// fence is the Namespace's list, whose exclusions hold whatever an object says.
	fence wish
}

// ErrInherited is wrapped by errors about what an object inherits from its Namespace.
var ErrInherited = errors.New("the Namespace's")

// wish is the value of an annotation.
type wish struct {
	value            string
	given, inherited bool
}

// annotation is a wish, and where it is read.
type annotation struct {
	key string
	*wish
}

// annotations returns all wishes, those for clusters first.
func (w *Wishes) annotations() []annotation {
	return []annotation{
		{ClustersAnnotation, &w.clusters}, {ClusterSelectorAnnotation, &w.selector}, {FollowsAnnotation, &w.follows},
		{SuspendAnnotation, &w.suspend}, {PreserveOnDeletionAnnotation, &w.preserve}, {ConflictResolutionAnnotation, &w.conflict},
		{ReplicasAnnotation, &w.replicas}, {ExpandAnnotation, &w.expand}, {DeletionAnnotation, &w.deletion},
		{WavesAnnotation, &w.waves}, {WaveBakeAnnotation, &w.bake}, {WaveDeadlineAnnotation, &w.deadline},
	}
}

// ReadWishes reads annotations without checking their values.
func ReadWishes(annotations map[string]string) (w Wishes) {
	for _, a := range w.annotations() {
		a.value, a.given = annotations[a.key]
	}
	return w
}

// IsAnnotation reports whether an object may have an annotation of ours with that key.
func IsAnnotation(key string) bool {
	return slices.ContainsFunc(new(Wishes).annotations(), func(a annotation) bool { return a.key == key })
}

// Ask reports whether the wishes choose clusters.
func (w Wishes) Ask() bool { return w.clusters.given || w.selector.given || w.follows.given }

// InheritsClusters reports whether the list of clusters is the Namespace's.
func (w Wishes) InheritsClusters() bool { return w.clusters.given && w.clusters.inherited }

// InheritsTargets reports whether clusters are chosen by the Namespace, and it says where: it has not opted out.
func (w Wishes) InheritsTargets() bool {
	return (w.clusters.inherited || w.selector.inherited) && !w.fence.isBlank()
}

// TargetsAs reports whether the wishes choose clusters in the same words as others.
func (w Wishes) TargetsAs(other Wishes) bool {
	return w.clusters.value == other.clusters.value && w.selector.value == other.selector.value && w.follows.value == other.follows.value
}

// OptOut reports whether the wishes opt out of the Namespace's targets.
func (w Wishes) OptOut() bool { return w.clusters.isBlank() }

// Over returns the wishes of an object whose Namespace has defaults: each annotation
// replaces the Namespace's, but the Namespace's exclusions always hold. An object that opts
// out, or follows others, inherits no targets; if the Namespace has none, the object still opts out.
func (w Wishes) Over(defaults Wishes) Wishes {
	w.fence, defaults.follows = defaults.clusters.inherit(), wish{}
	if w.OptOut() || w.follows.given {
		if w.OptOut() && (defaults.Ask() || w.selector.given || w.follows.given) {
			w.clusters = wish{}
		}
		defaults.clusters, defaults.selector = wish{}, wish{}
	}
	inherited := defaults.annotations()
	for i, a := range w.annotations() {
		*a.wish = a.or(*inherited[i].wish)
	}
	return w
}

// To returns the wishes of what names these clusters.
func To(clusters []string) Wishes {
	return Wishes{clusters: wish{value: strings.Join(clusters, ","), given: len(clusters) > 0}}
}

// Following returns the wishes of an object that goes where others want it: it chooses no clusters itself, members keep it, and it says
// only how it is applied.
func (w Wishes) Following(others Wishes) Wishes {
	return Wishes{clusters: others.clusters, preserve: wish{value: "true", given: true}, suspend: w.suspend, conflict: w.conflict}
}

func (w wish) isBlank() bool { return w.given && strings.TrimSpace(w.value) == "" }

func (w wish) or(fallback wish) wish {
	if w.given {
		return w
	}
	return fallback.inherit()
}

// inherit returns the wish as one that the Namespace has given.
func (w wish) inherit() wish {
	w.inherited = w.given
	return w
}

// blame adds to an error whose mistake it is, and in which annotation.
func (w wish) blame(key string, err error) error {
	if w.inherited {
		return fmt.Errorf("%w %s: %w", ErrInherited, key, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

// String lists the given annotations, and which of them are the Namespace's.
func (w Wishes) String() string {
	var given []string
	for _, annotation := range w.annotations() {
		switch {
		case annotation.inherited:
			given = append(given, fmt.Sprintf("%s=%s (the Namespace's)", annotation.key, quote(annotation.value)))
		case annotation.given:
			given = append(given, fmt.Sprintf("%s=%s", annotation.key, quote(annotation.value)))
		}
	}
	if w.fence.given && !w.clusters.inherited && strings.Contains(w.fence.value, "!") {
		given = append(given, fmt.Sprintf("%s=%s (the Namespace's exclusions)", ClustersAnnotation, quote(w.fence.value)))
	}
	return strings.Join(given, ", ")
}

// Targets lists the annotations that choose clusters, as in String.
func (w Wishes) Targets() string {
	return Wishes{clusters: w.clusters, selector: w.selector, follows: w.follows, fence: w.fence}.String()
}

// HasOptedOut reports whether an object opts out of what its Namespace chooses.
func (w Wishes) HasOptedOut() bool { return w.fence.given && !w.Ask() }

// Command returns the arguments of kubectl annotate that choose the same clusters.
func (w Wishes) Command() string {
	var given []string
	for _, annotation := range w.annotations()[:3] {
		if annotation.given {
			given = append(given, shellAssignment(annotation.key, annotation.value))
		}
	}
	return strings.Join(given, " ")
}

// CommandToAdd returns the argument of kubectl annotate that adds clusters to
// those that these wishes ask for, including the list that the Namespace gives
// them. It is empty if adding names does not help: an exclusion wins.
func (w Wishes) CommandToAdd(clusters []string) string {
	list := strings.Join(clusters, ",")
	if own := strings.TrimRight(w.clusters.value, ", \t\n"); own != "" {
		list = own + "," + list
	}
	w.clusters = wish{value: list, given: true}
	terms, err := w.Terms()
	if err != nil || slices.ContainsFunc(clusters, func(name string) bool { return !terms.Matches(name, nil) }) {
		return ""
	}
	return shellAssignment(ClustersAnnotation, list)
}

func shellAssignment(key, value string) string {
	return key + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// Check parses all annotations and returns the first error.
func (w Wishes) Check() (err error) {
	var terms Terms
	if w.Ask() && !w.OptOut() {
		if terms, err = w.Terms(); err != nil {
			return err
		}
	}
	if err := w.checkLeaders(); err != nil {
		return err
	}
	if _, err := w.Options(); err != nil {
		return err
	}
	differences, err := w.Differences()
	if err != nil {
		return err
	}
	waves, err := w.Waves()
	if err != nil {
		return err
	}
	if err := w.checkSize(terms, differences, waves); err != nil {
		return err
	}
	_, err = w.Foreground()
	return err
}

// checkSize refuses more terms than are worth their cost. The error names the annotation with the first
// of those that are too many.
func (w Wishes) checkSize(terms Terms, differences Differences, waves Waves) error {
	all := size{}.plus(terms)
	if err := all.check(); err != nil {
		return w.clusters.blame(ClustersAnnotation, err)
	}
	all = all.plus(differences.Suspended)
	if err := all.check(); err != nil {
		return w.suspend.blame(SuspendAnnotation, err)
	}
	d := differences.Division
	all.terms, all.globs = all.terms+len(d.names)+len(d.globs), all.globs+len(d.globs)
	if err := all.check(); err != nil {
		return w.replicas.blame(ReplicasAnnotation, err)
	}
	for _, wave := range waves.list {
		all = all.plus(wave.terms)
	}
	if err := all.check(); err != nil {
		return w.waves.blame(WavesAnnotation, err)
	}
	return nil
}

// Terms parses the targets. The error names the annotation.
func (w Wishes) Terms() (Terms, error) {
	t := &termLists{}
	if w.selector.given {
		if err := t.selectBy(w.selector.value); err != nil {
			return Terms{}, w.selector.blame(ClusterSelectorAnnotation, err)
		}
	}
	if w.clusters.given {
		if err := t.parse(w.clusters.value); err != nil {
			return Terms{}, w.clusters.blame(ClustersAnnotation, err)
		}
	}
	if w.fence.given {
		if err := t.exclude(w.fence.value); err != nil {
			return Terms{}, w.fence.blame(ClustersAnnotation, err)
		}
	}
	return Terms{t}, nil
}

// IndexKeys returns the index keys of the targets, of each annotation by itself, as far as it
// can be parsed: an object may replace one of its Namespace's and inherit the other.
func (w Wishes) IndexKeys() (keys []string) {
	for _, alone := range []Wishes{{clusters: w.clusters}, {selector: w.selector}} {
		if alone.Ask() && !alone.OptOut() {
			terms, _ := alone.Terms()
			keys = append(keys, terms.Index()...)
		}
	}
	return append(keys, w.OtherNames()...)
}

// NamedClusters are the clusters that an annotation names although it chooses none.
type NamedClusters struct {
	Annotation string
	Names      []string
	// Inherited: the annotation is the Namespace's.
	Inherited bool
}

// Named returns the clusters that SuspendAnnotation, ReplicasAnnotation and WavesAnnotation name, as far as these can be
// parsed. Such a name has no effect if no cluster has it.
func (w Wishes) Named() (named []NamedClusters) {
	if w.suspend.given {
		terms, _ := w.suspended()
		named = append(named, NamedClusters{SuspendAnnotation, terms.Names(), w.suspend.inherited})
	}
	if w.replicas.given {
		division, _, _ := ParseDivision(w.replicas.value)
		named = append(named, NamedClusters{ReplicasAnnotation, division.clusters(), w.replicas.inherited})
	}
	if w.waves.given {
		list, _ := parseWaves(w.waves.value) // whatever their times are, which an object may replace
		named = append(named, NamedClusters{WavesAnnotation, Waves{list: list}.names(), w.waves.inherited})
	}
	return named
}

// OtherNames returns the clusters of Named.
func (w Wishes) OtherNames() (names []string) {
	for _, named := range w.Named() {
		names = append(names, named.Names...)
	}
	return names
}

// Options parses the rest. The error names the annotation; a wish to preserve counts all the same.
func (w Wishes) Options() (Options, error) {
	var o Options
	var err error
	o.Suspend = w.suspend.given && w.suspend.value == "true"
	if o.PreserveOnDeletion, err = w.preserve.choose(PreserveOnDeletionAnnotation, "false", "true"); err != nil {
		return Options{}, err
	}
	if o.Overwrite, err = w.conflict.choose(ConflictResolutionAnnotation, conflictAbort, conflictOverwrite); err != nil {
		return Options{PreserveOnDeletion: o.PreserveOnDeletion}, err
	}
	if w.replicas.given {
		if _, o.RetainReplicas, err = ParseDivision(w.replicas.value); err != nil {
			return Options{PreserveOnDeletion: o.PreserveOnDeletion}, w.replicas.blame(ReplicasAnnotation, err)
		}
	}
	return o, nil
}

// Foreground reports whether the object is to stay until all its Works are gone when it is deleted.
// The error names the annotation.
func (w Wishes) Foreground() (bool, error) {
	return w.deletion.choose(DeletionAnnotation, "background", "foreground")
}

// retain is the value of ReplicasAnnotation.
const retain = "retain"

// choose returns true for yes, and false for no or if there is no annotation.
func (w wish) choose(key, no, yes string) (bool, error) {
	switch {
	case !w.given || w.value == no:
		return false, nil
	case w.value == yes:
		return true, nil
	default:
		return false, w.blame(key, fmt.Errorf("%s is neither %q nor %q", quote(w.value), yes, no))
	}
}

// Options are what a source asks of its Works besides their targets.
type Options struct {
	Suspend, PreserveOnDeletion, Overwrite, RetainReplicas bool
}

// retaining returns Options that retain replicas also if the manifest says so.
func (o Options) retaining(retains bool) Options {
	o.RetainReplicas = o.RetainReplicas || retains
	return o
}
