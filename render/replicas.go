package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxWeight is the largest weight of a term. Karmada compares the quotients of Divide as
// float64. With weights below 2^20 and numbers of replicas that fit an int32, different
// quotients differ by more than one part in 2^52, and so as float64 too: Divide, which is
// exact, sees the same ties as Karmada.
const MaxWeight = 1_000_000

// divide is the value of ReplicasAnnotation by which all targets get equal shares.
const divide = "divide"

// Division is the parsed value of ReplicasAnnotation: by which weights a source's replicas are
// divided over its targets. The zero value divides nothing. It does not change.
type Division struct {
	isAsked bool
	// names are sorted. globs are sorted by weight, the highest first.
	names, globs []weightedTerm
}

// weightedTerm gives a weight to the clusters that a name or a glob matches.
type weightedTerm struct {
	term   string
	weight int64
}

// ParseDivision parses "retain", by which each member keeps its number of replicas; "divide",
// by which all targets have the weight 1; or a comma-separated list of weights such as
// member1=2,prod-*=1. Spaces and a trailing comma are fine. A list has no exclusions: the
// weight 0 does the same. A term that occurs twice is an error even if both weights are equal,
// because one of them is likely a typo.
func ParseDivision(value string) (d Division, isRetain bool, err error) {
	switch strings.TrimSpace(value) {
	case retain:
		return Division{}, true, nil
	case divide:
		return Division{isAsked: true}, false, nil
	case "":
		return Division{}, false, fmt.Errorf("it is empty; write %q, %q or weights such as member1=2", divide, retain)
	}
	if !strings.ContainsAny(value, "=,") {
		return Division{}, false, fmt.Errorf("%s is neither %q nor %q, nor a list of weights such as member1=2,prod-*=1", quote(value), divide, retain)
	}
	fields, err := splitTerms(value)
	if err != nil {
		return Division{}, false, err
	}
	d.isAsked = true
	for i, field := range fields {
		if err := d.read(strings.TrimSpace(field)); err != nil {
			return Division{}, false, fmt.Errorf("term %d: %w", i+1, err)
		}
	}
	if err := d.sort(); err != nil {
		return Division{}, false, err
	}
	return d, false, nil
}

// read adds a term.
func (d *Division) read(field string) error {
	if field == "" {
		return errors.New("it is empty; remove a comma")
	}
	term, number, hasWeight := strings.Cut(field, "=")
	term, number = strings.TrimSpace(term), strings.TrimSpace(number)
	switch {
	case strings.HasPrefix(term, "!"):
		return fmt.Errorf("%s is an exclusion; to give a cluster no replicas, write member1=0", quote(term))
	case !hasWeight:
		return fmt.Errorf("%s has no weight; write a weight such as member1=2", quote(term))
	case term == "":
		return fmt.Errorf("%s names no cluster; write a cluster or a glob before the =", quote(field))
	}
	if err := validateTerm(term); err != nil {
		return err
	}
	weight, err := parseWeight(number)
	if err != nil {
		return fmt.Errorf("the weight of %s: %w", quote(term), err)
	}
	if strings.ContainsAny(term, "*?") {
		d.globs = append(d.globs, weightedTerm{term, weight})
		return nil
	}
	d.names = append(d.names, weightedTerm{term, weight})
	return nil
}

// parseWeight parses digits alone: strconv accepts a sign too.
func parseWeight(number string) (int64, error) {
	weight, err := strconv.ParseUint(number, 10, 63)
	if err != nil || weight > MaxWeight {
		return 0, fmt.Errorf("%s is not a whole number from 0 to %d", quote(number), MaxWeight)
	}
	return int64(weight), nil
}

// sort prepares for look-up, and refuses a term that occurs twice.
func (d *Division) sort() error {
	for _, list := range [][]weightedTerm{d.names, d.globs} {
		slices.SortFunc(list, func(a, b weightedTerm) int { return strings.Compare(a.term, b.term) })
		for i := 1; i < len(list); i++ {
			if list[i].term == list[i-1].term {
				return fmt.Errorf("%s has two weights; remove one", quote(list[i].term))
			}
		}
	}
	slices.SortStableFunc(d.globs, func(a, b weightedTerm) int { return cmp.Compare(b.weight, a.weight) })
	return nil
}

// Divides reports whether replicas are divided at all.
func (d Division) Divides() bool { return d.isAsked }

// clusters returns the clusters that have a weight by their names, sorted.
func (d Division) clusters() (names []string) {
	for _, named := range d.names {
		names = append(names, named.term)
	}
	return names
}

// WeightOf returns the weight of a target: the highest of the terms that match it, whether
// they are names or globs, as in Karmada (getStaticWeightInfoList in
// pkg/scheduler/core/division_algorithm.go, v1.18.2). A target that no term matches has the
// weight 1. Karmada leaves such a cluster out, but here it is a target because the source asks
// for it.
func (d Division) WeightOf(cluster string) int64 {
	weight, isMatched := int64(0), false
	if i, found := slices.BinarySearchFunc(d.names, cluster, func(t weightedTerm, name string) int { return strings.Compare(t.term, name) }); found {
		weight, isMatched = d.names[i].weight, true
	}
	for _, glob := range d.globs {
		if matchesGlob(glob.term, cluster) {
			return max(weight, glob.weight)
		}
	}
	if !isMatched {
		return 1
	}
	return weight
}
