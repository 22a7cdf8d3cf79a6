package parity

import (
	"fmt"
	"reflect"
	"slices"
)

// difference is a place where Karmada's manifest and ours differ.
type difference struct {
	path         []string
	theirs, ours any
	// missing means that ours has nothing there.
	missing bool
}

func (d difference) String() string {
	if d.missing {
		return fmt.Sprintf("%q: Karmada has %v, we have nothing", d.path, d.theirs)
	}
	return fmt.Sprintf("%q: Karmada has %v, we have %v", d.path, d.theirs, d.ours)
}

// key returns the label or annotation that the difference is about.
func (d difference) key(fields ...string) (string, bool) {
	if len(d.path) != 3 || d.path[0] != "metadata" || !slices.Contains(fields, d.path[1]) {
		return "", false
	}
	return d.path[2], true
}

// compare lists the differences between two JSON values.
func compare(path []string, theirs, ours any) []difference {
	a, isMap := theirs.(map[string]any)
	b, isMapToo := ours.(map[string]any)
	if isMap && isMapToo {
		return compareMaps(path, a, b)
	}
	s, isList := theirs.([]any)
	u, isListToo := ours.([]any)
	if isList && isListToo && len(s) == len(u) {
		var found []difference
		for i := range s {
			found = append(found, compare(append(slices.Clip(path), fmt.Sprint(i)), s[i], u[i])...)
		}
		return found
	}
	if reflect.DeepEqual(theirs, ours) {
		return nil
	}
	return []difference{{path: path, theirs: theirs, ours: ours}}
}

func compareMaps(path []string, theirs, ours map[string]any) []difference {
	var found []difference
	for key, value := range theirs {
		inner := append(slices.Clip(path), key)
		if own, ok := ours[key]; ok {
			found = append(found, compare(inner, value, own)...)
			continue
		}
		found = append(found, difference{path: inner, theirs: value, missing: true})
	}
	for key, own := range ours {
		if _, ok := theirs[key]; !ok {
			found = append(found, difference{path: append(slices.Clip(path), key), ours: own})
		}
	}
	return found
}
