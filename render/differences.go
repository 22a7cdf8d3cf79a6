package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Differences are what a source asks for that makes its Works differ by cluster.
type Differences struct {
	// Suspended are the clusters whose Works are suspended even if Options.Suspend is off.
	Suspended Terms
	// Expand: the variables in the manifest stand for what each cluster says about itself.
	Expand bool
	// Division divides the replicas over the clusters.
	Division Division
}

// Differences parses the annotations by which Works differ. The error names the annotation.
func (w Wishes) Differences() (d Differences, err error) {
	if d.Suspended, err = w.suspended(); err != nil {
		return Differences{}, err
	}
	if d.Expand, err = w.expand.choose(ExpandAnnotation, "false", "true"); err != nil {
		return Differences{}, err
	}
	if w.replicas.given {
		if d.Division, _, err = ParseDivision(w.replicas.value); err != nil {
			return Differences{}, w.replicas.blame(ReplicasAnnotation, err)
		}
	}
	return d, nil
}

// InheritsReplicas reports whether what is said about replicas is the Namespace's.
func (w Wishes) InheritsReplicas() bool { return w.replicas.inherited }

// mistakenForBooleans could be names of clusters, but are more likely meant as "true" or "false".
var mistakenForBooleans = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0", "enabled", "disabled"}

// suspended returns the clusters that SuspendAnnotation lists.
func (w Wishes) suspended() (Terms, error) {
	if value := w.suspend.value; !w.suspend.given || value == "true" || value == "false" {
		return Terms{}, nil
	}
	terms, err := ParseTerms(w.suspend.value)
	word := strings.TrimFunc(w.suspend.value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if slices.Contains(mistakenForBooleans, word) {
		err = errors.New("write the name of such a cluster as a glob")
	}
	if err != nil {
		return Terms{}, w.suspend.blame(SuspendAnnotation, fmt.Errorf("%s is neither \"true\", \"false\" nor a list of clusters: %w", quote(w.suspend.value), err))
	}
	return terms, nil
}
