package render

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxLeaders is how many leaders one object may name.
const MaxLeaders = 16

// Leader is an object that another follows, in its own namespace.
type Leader struct {
	// Type is a resource or a kind as kubectl takes it, in lower case, with its API group or without.
	Type, Name string
}

func (l Leader) String() string { return l.Type + "/" + l.Name }

// leaderForm is TYPE/NAME, with the characters of a resource and of the path segment that a name is.
var leaderForm = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)/([^/%\s,]{1,253})$`)

// parseLeaders parses a list such as deployment/web, statefulsets.apps/db.
func parseLeaders(value string) (leaders []Leader, err error) {
	fields, err := splitTerms(value)
	switch {
	case err != nil:
		return nil, err
	case len(fields) == 0 || len(fields) > MaxLeaders:
		return nil, fmt.Errorf("it names %d objects: give 1 to %d, as deployment/web", len(fields), MaxLeaders)
	}
	for _, field := range fields {
		field = strings.TrimSpace(field)
		parts := leaderForm.FindStringSubmatch(field)
		if parts == nil || parts[3] == "." || parts[3] == ".." {
			return nil, fmt.Errorf("%s is not TYPE/NAME, as in deployment/web or deployments.apps/web", quote(field))
		}
		if leader := (Leader{parts[1], parts[3]}); !slices.Contains(leaders, leader) {
			leaders = append(leaders, leader)
		}
	}
	return leaders, nil
}

// Follows reports whether an object follows others.
func (w Wishes) Follows() bool { return w.follows.given }

// Leaders returns the objects that another follows; none if they cannot be parsed.
func (w Wishes) Leaders() []Leader {
	if !w.follows.given {
		return nil
	}
	leaders, _ := parseLeaders(w.follows.value)
	return leaders
}

// checkLeaders parses the leaders. The error names the annotation.
func (w Wishes) checkLeaders() error {
	if !w.follows.given {
		return nil
	}
	if _, err := parseLeaders(w.follows.value); err != nil {
		return w.follows.blame(FollowsAnnotation, err)
	}
	return nil
}

// CheckDefaults is Check for the wishes of a Namespace.
func (w Wishes) CheckDefaults() error {
	if w.follows.given {
		return w.follows.blame(FollowsAnnotation, errors.New("a Namespace follows nothing: annotate the objects"))
	}
	return w.Check()
}

// Or returns the terms that select what either selects: what one excludes, the other may select.
func (t Terms) Or(others Terms) Terms {
	lists := t.get()
	lists.or = append(slices.Clone(lists.or), others)
	return Terms{&lists}
}
