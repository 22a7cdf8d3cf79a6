package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// MaxTerms is how many terms one annotation may have. Karmada is tested with
	// some hundred clusters; a longer list is better written as a glob.
	MaxTerms = 1024
	// maxClusterName is Karmada's limit (ValidateClusterName in
	// pkg/apis/cluster/validation, v1.18.2).
	maxClusterName = 48

	// GlobIndexKey is the index key of Terms that any cluster might match. It is
	// no valid cluster name.
	GlobIndexKey = "*"
)

// Terms are the parsed value of ClustersAnnotation. The zero value matches no
// cluster, and is small: most objects of a cache have it.
type Terms struct {
	lists *termLists
}

// termLists are sorted.
type termLists struct {
	names, globs, notNames, notGlobs []string
}

func (t Terms) get() termLists {
	if t.lists == nil {
		return termLists{}
	}
	return *t.lists
}

// ParseTerms parses a comma-separated list of terms: a cluster name, a glob
// (`*`, `?`), or either as an exclusion behind `!`. Spaces and a trailing comma
// are fine. A value that names nothing is an error, so that an empty variable in
// somebody's template does not read as "delete everywhere".
func ParseTerms(value string) (Terms, error) {
	if strings.Trim(value, ", \t\n") == "" {
		return Terms{}, errors.New("it names no cluster; to stop mirroring, remove the annotation")
	}
	fields := strings.Split(value, ",")
	if last := len(fields) - 1; strings.TrimSpace(fields[last]) == "" {
		fields = fields[:last]
	}
	if len(fields) > MaxTerms {
		return Terms{}, fmt.Errorf("it has %d terms, more than %d; use a glob such as prod-*", len(fields), MaxTerms)
	}
	t := &termLists{}
	for i, field := range fields {
		if err := t.add(strings.TrimSpace(field)); err != nil {
			return Terms{}, fmt.Errorf("term %d: %w", i+1, err)
		}
	}
	if len(t.names)+len(t.globs) == 0 {
		return Terms{}, errors.New("it has exclusions only; put * before them to mean every other cluster")
	}
	for _, list := range []*[]string{&t.names, &t.globs, &t.notNames, &t.notGlobs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return Terms{t}, nil
}

func (t *termLists) add(term string) error {
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
	plain := strings.NewReplacer("*", "x", "?", "x").Replace(term)
	switch {
	case term == "":
		return errors.New("it is empty; remove a comma")
	case len(plain) > maxClusterName:
		return fmt.Errorf("%s is longer than a cluster name can be (%d characters)", quote(term), maxClusterName)
	case len(validation.IsDNS1123Label(plain)) > 0:
		return fmt.Errorf("%s is no cluster name: those have lower-case letters, digits and, inside, '-'", quote(term))
	}
	return nil
}

// Matches reports whether the terms select a cluster. Exclusions win wherever
// they stand.
func (t Terms) Matches(cluster string) bool {
	l := t.get()
	if contains(l.notNames, cluster) || matchesAny(l.notGlobs, cluster) {
		return false
	}
	return contains(l.names, cluster) || matchesAny(l.globs, cluster)
}

// Names are the clusters named literally and not excluded, sorted.
func (t Terms) Names() []string {
	var names []string
	for _, name := range t.get().names {
		if t.Matches(name) {
			names = append(names, name)
		}
	}
	return names
}

// HasGlob reports whether clusters may match that are not named.
func (t Terms) HasGlob() bool { return len(t.get().globs) > 0 }

// Index returns the keys under which to find these terms when a cluster
// changes: each name, and GlobIndexKey if there is a glob.
func (t Terms) Index() []string {
	keys := t.Names()
	if t.HasGlob() {
		keys = append(keys, GlobIndexKey)
	}
	return keys
}

// Equal reports whether both select the same clusters by the same terms.
func (t Terms) Equal(u Terms) bool {
	a, b := t.get(), u.get()
	return slices.Equal(a.names, b.names) && slices.Equal(a.globs, b.globs) &&
		slices.Equal(a.notNames, b.notNames) && slices.Equal(a.notGlobs, b.notGlobs)
}

func contains(sorted []string, s string) bool {
	_, found := slices.BinarySearch(sorted, s)
	return found
}

func matchesAny(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, s)
		return err == nil && matched
	})
}
