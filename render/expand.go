package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Variables in string values stand for what a member cluster says about itself:
//
//	$(cluster.name) $(cluster.region) $(cluster.zone) $(cluster.provider)
//	$(cluster.label:KEY) $(cluster.annotation:KEY)
//
// With :-TEXT before the parenthesis, TEXT stands for a value that the cluster lacks. Only
// variableStart begins a variable: Kubernetes' own $(VAR) stays as it is.
const (
	variableStart   = "$(cluster."
	escapedVariable = "$" + variableStart
	defaultMark     = ":-"
	labelVariable   = "label:"
	annotVariable   = "annotation:"
)

// recordSuffix ends the annotations in which tools keep the whole Cluster, with what is none of a tenant's business: kubectl
// (corev1.LastAppliedConfigAnnotation), client-go's apply package, and others after them.
const recordSuffix = "last-applied-configuration"

// maxExpanded is how many bytes expansion may add to a manifest: etcd accepts no larger object,
// and an annotation of 256 KiB may be used many times.
const maxExpanded = 1536 << 10

// maxVariables is how many different variables an object may have: each is looked up for each
// cluster at each look.
const maxVariables = 256

var errTooMany = fmt.Errorf("it has more than %d different variables; use fewer, or an override policy", maxVariables)

var errTooLong = errors.New("the expanded values take more than the 1.5 MiB that etcd accepts")

// hasVariables reports whether an encoded manifest contains a variable, or one that is escaped.
func hasVariables(encoded []byte) bool { return bytes.Contains(encoded, []byte(variableStart)) }

// variablesIn returns the names of the variables in the string values of a manifest, sorted,
// without their defaults.
func variablesIn(manifest map[string]any) []string {
	var names []string
	note := func(name string) (string, bool) {
		names = append(names, name)
		return "", true
	}
	eachText(manifest, make([]string, 0, usualDepth), spared(manifest), func(text string) { _, _ = expandText(text, note) })
	slices.Sort(names)
	return slices.Compact(names)
}

// expand replaces the variables in the string values of a manifest, in place. It leaves alone
// what identifies the object, and the data of a Secret, which is encoded.
func expand(manifest map[string]any, m *Member) error {
	if len(variablesIn(manifest)) > maxVariables {
		return errTooMany
	}
	added := 0
	return replaceIn(manifest, make([]string, 0, usualDepth), spared(manifest), func(text string) (string, error) {
		expanded, err := expandText(text, m.Says)
		if err != nil {
			return "", err
		}
		if added += max(0, len(expanded)-len(text)); added > maxExpanded {
			return "", errTooLong
		}
		return expanded, nil
	})
}

// Says returns what a variable stands for; false if the cluster says nothing.
func (m *Member) Says(name string) (value string, ok bool) {
	switch name {
	case "name":
		value = m.Name
	case "region":
		value = m.Region
	case "zone":
		value = m.Zone()
	case "provider":
		value = m.Provider
	default:
		if key, isLabel := strings.CutPrefix(name, labelVariable); isLabel {
			return m.selectorLabel(key)
		}
		key := strings.TrimPrefix(name, annotVariable)
		if strings.HasSuffix(key, recordSuffix) {
			return "", false
		}
		value, ok = m.Annotations[key]
		return value, ok
	}
	return value, value != ""
}

// isVariable reports whether there is such a variable.
func isVariable(name string) bool {
	for _, prefix := range []string{labelVariable, annotVariable} {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			return key != ""
		}
	}
	return slices.Contains([]string{"name", "region", "zone", "provider"}, name)
}

// expandText replaces the variables in a text. What it inserts is not expanded again.
func expandText(text string, value func(name string) (string, bool)) (string, error) {
	if !strings.Contains(text, variableStart) {
		return text, nil
	}
	var expanded strings.Builder
	for {
		at := strings.Index(text, variableStart)
		if at < 0 {
			expanded.WriteString(text)
			return expanded.String(), nil
		}
		if before, isEscaped := strings.CutSuffix(text[:at], "$"); isEscaped {
			expanded.WriteString(before + variableStart)
			text = text[at+len(variableStart):]
			continue
		}
		expanded.WriteString(text[:at])
		name, rest, isClosed := strings.Cut(text[at+len(variableStart):], ")")
		name, otherwise, hasDefault := strings.Cut(name, defaultMark)
		if !isClosed || !isVariable(name) {
			return "", fmt.Errorf("there is no variable %s", quote(variableStart+name+")"))
		}
		text = rest
		inserted, ok := value(name)
		if !ok && !hasDefault {
			return "", fmt.Errorf("the cluster has nothing for %s, which has no default", quote(variableStart+name+")"))
		}
		if !ok {
			inserted = otherwise
		}
		if expanded.WriteString(inserted); expanded.Len() > len(text)+maxExpanded {
			return "", errTooLong
		}
	}
}

// usualDepth is how deep manifests usually are: a path of that length is not copied on the way.
const usualDepth = 16

// spared reports which fields are left alone.
func spared(manifest map[string]any) func(path []string) bool {
	u := unstructured.Unstructured{Object: manifest}
	fields := map[string]bool{"apiVersion": true, "kind": true, "metadata.name": true, "metadata.namespace": true}
	if u.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		fields["data"] = true
	}
	return func(path []string) bool { return len(path) <= 2 && fields[strings.Join(path, ".")] }
}

// eachText reads the strings in a value, in any order: every object of a restart is read, so that
// nothing is sorted or copied for it.
func eachText(value any, path []string, isSpared func(path []string) bool, read func(string)) {
	switch v := value.(type) {
	case string:
		read(v)
	case map[string]any:
		for key, field := range v {
			if at := append(path, key); !isSpared(at) {
				eachText(field, at, isSpared, read)
			}
		}
	case []any:
		for _, item := range v {
			eachText(item, append(path, ""), isSpared, read) // no item is spared by itself
		}
	}
}

// replaceIn replaces, in place, the strings in fields that are not spared. Its errors name the path;
// it walks in a fixed order, so that of several errors it is always the same.
func replaceIn(fields map[string]any, path []string, isSpared func(path []string) bool, replace func(string) (string, error)) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		at := append(path, key)
		if isSpared(at) {
			continue
		}
		replaced, err := replaceValue(fields[key], at, isSpared, replace)
		if err != nil {
			return err
		}
		fields[key] = replaced
	}
	return nil
}

func replaceValue(value any, path []string, isSpared func(path []string) bool, replace func(string) (string, error)) (any, error) {
	switch v := value.(type) {
	case string:
		replaced, err := replace(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote(strings.Join(path, ".")), err)
		}
		return replaced, nil
	case map[string]any:
		return v, replaceIn(v, path, isSpared, replace)
	case []any:
		for i, item := range v {
			replaced, err := replaceValue(item, append(path, strconv.Itoa(i)), isSpared, replace)
			if err != nil {
				return nil, err
			}
			v[i] = replaced
		}
	}
	return value, nil
}
