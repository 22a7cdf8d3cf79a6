package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	// MaxTerms is how many terms one annotation may have. Karmada is tested with
	// some hundred clusters; a longer list is better written as a glob.
	MaxTerms = 1024
	// MaxAllTerms is how many terms all annotations of an object may have together, and MaxAllGlobs how many
	// of them may be globs: each glob is compared with each cluster whenever the object is judged, and one
	// object must not cost as much as hundreds.
	MaxAllTerms = 2 * MaxTerms
	MaxAllGlobs = 128
	// maxClusterName is Karmada's limit (ValidateClusterName in
	// pkg/apis/cluster/validation, v1.18.2).
	maxClusterName = 48

	// selectorKey begins the index key of a label selector. No name or glob
	// contains it.
	selectorKey = "="
)

// Terms are the parsed values of ClustersAnnotation and ClusterSelectorAnnotation.
// The zero value matches no cluster, and is small: most cached objects have it.
type Terms struct {
	lists *termLists
}

// termLists are sorted. selector is nil if there is none; selectorText is its canonical
// form, so that equal selectors have equal texts.
type termLists struct {
	names, globs, notNames, notGlobs []string
	selector                         labels.Selector
	selectorText                     string
	// or are others of which each selects clusters by itself.
	or []Terms
}

// size is how many terms there are, and how many of them are globs.
type size struct{ terms, globs int }

func (s size) plus(t Terms) size {
	l := t.get()
	globs := len(l.globs) + len(l.notGlobs)
	return size{s.terms + len(l.names) + len(l.notNames) + globs, s.globs + globs}
}

// check refuses too many.
func (s size) check() error {
	switch {
	case s.terms > MaxAllTerms:
		return fmt.Errorf("with the other annotations it has %d terms, more than %d; use a glob such as prod-*", s.terms, MaxAllTerms)
	case s.globs > MaxAllGlobs:
		return fmt.Errorf("with the other annotations it has %d globs, more than %d; choose clusters by labels", s.globs, MaxAllGlobs)
	}
	return nil
}

func (t Terms) get() termLists {
	if t.lists == nil {
		return termLists{}
	}
	return *t.lists
}

// ParseTerms parses a comma-separated list of terms: a cluster name, a glob
// (`*`, `?`), or either as an exclusion after `!`. Spaces and a trailing comma
// are fine. A value that names nothing is an error, so that an empty variable in
// a user's template does not mean "delete everywhere".
func ParseTerms(value string) (Terms, error) {
	t := &termLists{}
	if err := t.parse(value); err != nil {
		return Terms{}, err
	}
	return Terms{t}, nil
}

// parse adds a list of terms to the existing ones.
func (t *termLists) parse(value string) error {
	list, err := readTerms(value)
	if err != nil {
		return err
	}
	t.add(list)
	if len(t.names)+len(t.globs) == 0 && t.selector == nil {
		return errors.New("it has only exclusions; put * before them to mean every other cluster")
	}
	return nil
}

// exclude adds only the exclusions of a list.
func (t *termLists) exclude(value string) error {
	if strings.TrimSpace(value) == "" {
		return nil
	}
	list, err := readTerms(value)
	list.names, list.globs = nil, nil
	t.add(list)
	return err
}

// readTerms parses a list on its own.
func readTerms(value string) (list termLists, err error) {
	if strings.Trim(value, ", \t\n") == "" {
		return list, errors.New("it names no cluster; to stop mirroring, remove the annotation")
	}
	fields, err := splitTerms(value)
	if err != nil {
		return list, err
	}
	for i, field := range fields {
		if err := list.read(strings.TrimSpace(field)); err != nil {
			return list, fmt.Errorf("term %d: %w", i+1, err)
		}
		if len(list.globs)+len(list.notGlobs) > MaxAllGlobs {
			return list, fmt.Errorf("it has more than %d globs; choose clusters by labels", MaxAllGlobs)
		}
	}
	return list, nil
}

// splitTerms splits a list at its commas, of which one may trail.
func splitTerms(value string) ([]string, error) {
	fields := strings.Split(value, ",")
	if last := len(fields) - 1; strings.TrimSpace(fields[last]) == "" {
		fields = fields[:last]
	}
	if len(fields) > MaxTerms {
		return nil, fmt.Errorf("it has %d terms, more than %d; use a glob such as prod-*", len(fields), MaxTerms)
	}
	return fields, nil
}

// add adds the terms of a list.
func (t *termLists) add(list termLists) {
	merge := func(a, b []string) []string {
		a = append(a, b...)
		slices.Sort(a)
		return slices.Compact(a)
	}
	t.names, t.globs = merge(t.names, list.names), merge(t.globs, list.globs)
	t.notNames, t.notGlobs = merge(t.notNames, list.notNames), merge(t.notGlobs, list.notGlobs)
}

// selectBy adds a label selector. A selector that selects everything is an error, for
// the same reason as a list that names nothing.
func (t *termLists) selectBy(value string) error {
	if strings.ContainsFunc(value, unicode.IsControl) { // the parser takes some for the end
		return fmt.Errorf("%s is not a valid label selector: it contains a control character", quote(value))
	}
	selector, err := labels.Parse(value)
	if err != nil {
		return fmt.Errorf("%s is not a valid label selector: %s", quote(value), quote(err.Error()))
	}
	if selector.Empty() {
		return fmt.Errorf("it selects every cluster; to mean that, write %s: \"*\"", ClustersAnnotation)
	}
	t.selector, t.selectorText = selector, selector.String()
	return nil
}

func (t *termLists) read(term string) error {
	name, excluded := strings.CutPrefix(term, "!")
	glob := strings.ContainsAny(name, "*?")
	if err := validateTerm(name); err != nil {
		return err
	}
	switch {
	case excluded && glob:
		t.notGlobs = append(t.notGlobs, name)
	case excluded:
		t.notNames = append(t.notNames, name)
	case glob:
		t.globs = append(t.globs, name)
	default:
		t.names = append(t.names, name)
	}
	return nil
}

// validateTerm checks a name, or a glob as if its wildcards were letters.
func validateTerm(term string) error {
	switch {
	case term == "":
		return errors.New("it is empty; remove a comma")
	case len(term) > maxClusterName:
		return fmt.Errorf("%s is longer than a cluster name can be (%d characters)", quote(term), maxClusterName)
	case !isLabel(term):
		return fmt.Errorf("%s is not a valid cluster name: use up to 48 lower-case letters, digits or '-', starting and ending with a letter or digit", quote(term))
	}
	return nil
}

// isLabel reports whether a term is a DNS label but for wildcards. A regular expression takes most of what it
// costs to judge an object with a thousand terms.
func isLabel(term string) bool {
	for i := range len(term) {
		switch c := term[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '*' || c == '?':
		case c == '-' && i > 0 && i < len(term)-1:
		default:
			return false
		}
	}
	return true
}

// Matches reports whether the terms select a cluster with these labels. Exclusions win,
// wherever they are in the list.
func (t Terms) Matches(cluster string, of labels.Set) bool {
	l := t.get()
	isOwn := contains(l.names, cluster) || matchesCluster(l.globs, cluster) || l.selector != nil && selected(l.selector, of)
	return isOwn && !l.excludes(cluster) || slices.ContainsFunc(l.or, func(other Terms) bool { return other.Matches(cluster, of) })
}

// Excludes reports whether an exclusion matches a cluster, and nothing else can select it.
func (t Terms) Excludes(cluster string) bool {
	l := t.get()
	return l.excludes(cluster) && !slices.ContainsFunc(l.or, func(other Terms) bool { return !other.Excludes(cluster) })
}

func (t termLists) excludes(cluster string) bool {
	return contains(t.notNames, cluster) || matchesCluster(t.notGlobs, cluster)
}

// Names returns the clusters named literally and not excluded, sorted.
func (t Terms) Names() []string {
	var names []string
	l := t.get()
	for _, name := range l.names {
		if !l.excludes(name) {
			names = append(names, name)
		}
	}
	for _, other := range l.or {
		names = append(names, other.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// GlobsWithout returns the globs that match none of some clusters.
func (t Terms) GlobsWithout(clusters []string) []string {
	return slices.DeleteFunc(slices.Clone(t.get().globs), func(glob string) bool {
		return slices.ContainsFunc(clusters, func(cluster string) bool { return matchesGlob(glob, cluster) })
	})
}

// HasSelector reports whether clusters are chosen by their labels.
func (t Terms) HasSelector() bool {
	return t.get().selector != nil || slices.ContainsFunc(t.get().or, Terms.HasSelector)
}

// IsOpen reports whether clusters that are not named may match.
func (t Terms) IsOpen() bool {
	return len(t.get().globs) > 0 || t.HasSelector() || slices.ContainsFunc(t.get().or, Terms.IsOpen)
}

// Index returns the keys under which to find these terms when a cluster changes. Only
// terms with a key for which KeyMatches returns true can match the cluster.
func (t Terms) Index() []string {
	keys := append(t.Names(), t.get().globs...)
	if t.get().selector != nil {
		keys = append(keys, selectorKey+t.get().selectorText)
	}
	return keys
}

// KeyMatches reports whether terms with this index key may match a cluster with these
// labels: even with many sources, there are few keys.
func KeyMatches(key, cluster string, of labels.Set) bool {
	if text, selects := strings.CutPrefix(key, selectorKey); selects {
		selector, err := labels.Parse(text)
		return err == nil && selected(selector, of)
	}
	return key == cluster || matchesGlob(key, cluster)
}

// Equal reports whether both select the same clusters by the same terms.
func (t Terms) Equal(u Terms) bool {
	a, b := t.get(), u.get()
	return slices.Equal(a.names, b.names) && slices.Equal(a.globs, b.globs) && a.selectorText == b.selectorText &&
		slices.Equal(a.notNames, b.notNames) && slices.Equal(a.notGlobs, b.notGlobs) && slices.EqualFunc(a.or, b.or, Terms.Equal)
}

func contains(sorted []string, s string) bool {
	_, found := slices.BinarySearch(sorted, s)
	return found
}

func matchesCluster(globs []string, cluster string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return matchesGlob(glob, cluster) })
}

// matchesGlob is path.Match for terms, whose only wildcards are * and ?: a judgement asks for each cluster, and
// path.Match takes several times as long.
func matchesGlob(glob, name string) bool {
	g, n, star, next := 0, 0, -1, 0 // next is where to go on behind the last star if the rest does not match
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, next = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			next++
			g, n = star+1, next
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

func matchesAny(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, s)
		return err == nil && matched
	})
}
