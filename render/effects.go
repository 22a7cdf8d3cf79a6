package render

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karmada-target/karmada-mirror/render/override"
)

// Effect is what one part of an Edit changes in a manifest.
type Effect struct {
	// By is a policy by kind and name, or an annotation, or "strip".
	By string
	// Paths are the fields that change, such as spec.replicas; not their values, which may be
	// secret.
	Paths []string
}

// Effects returns what each part of an Edit changes, in order. Parts that change nothing are missing, but for policies, which have
// no paths then: who selects an object by one wants to change it.
func (m *Manifest) Effects(e Edit) (effects []Effect, err error) {
	obj, err := m.Object()
	if err != nil {
		return nil, err
	}
	before := obj.DeepCopy().Object
	for _, step := range m.stepsOf(e) {
		if err := step.apply(obj.Object); err != nil {
			return nil, err
		}
		if paths := changedPaths(before, obj.Object, nil); len(paths) > 0 || step.isPolicy {
			effects = append(effects, Effect{step.by, paths})
			before = runtime.DeepCopyJSON(obj.Object)
		}
	}
	return effects, nil
}

// step is one part of an Edit.
type step struct {
	by       string
	apply    func(map[string]any) error
	isPolicy bool
}

// stepsOf returns the parts of an Edit in the order in which they apply.
func (m *Manifest) stepsOf(e Edit) (steps []step) {
	if e.Member != nil && m.variables != nil {
		steps = append(steps, step{ExpandAnnotation, func(obj map[string]any) error { return expand(obj, e.Member) }, false})
	}
	if e.Share != nil {
		steps = append(steps, step{ReplicasAnnotation, func(obj map[string]any) error { return e.Share.Paths.Set(obj, e.Share.Scale) }, false})
	}
	for _, o := range e.Overrides.ByPolicy() {
		steps = append(steps, step{nameOf(o), o.Apply, true})
	}
	return append(steps, step{"strip", func(obj map[string]any) error {
		e.Strip.apply(obj)
		return nil
	}, false})
}

func nameOf(o override.Overrides) string { return o.Policies()[0].String() }

// changedPaths returns the fields by which two values differ, sorted.
func changedPaths(before, after any, path []string) (changed []string) {
	a, aIsMap := before.(map[string]any)
	b, bIsMap := after.(map[string]any)
	if aIsMap && bIsMap {
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			at := append(slices.Clip(path), key)
			_, isInA := a[key]
			if _, isInB := b[key]; isInA != isInB && a[key] == nil && b[key] == nil { // a null
				changed = append(changed, strings.Join(at, "."))
				continue
			}
			changed = append(changed, changedPaths(a[key], b[key], at)...)
		}
		return changed
	}
	list, aIsList := before.([]any)
	other, bIsList := after.([]any)
	if aIsList && bIsList && len(list) == len(other) {
		for i := range list {
			changed = append(changed, changedPaths(list[i], other[i], append(slices.Clip(path), strconv.Itoa(i)))...)
		}
		return changed
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return []string{strings.Join(path, ".")}
}
