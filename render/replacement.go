package render

import (
	"bytes"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// LosesNulls reports whether a JSON merge patch of a Work may lose content: an API server removes the null fields of what it
// puts into a list, as the manifest is (pruneNils in github.com/evanphx/json-patch, v4.13.0).
func LosesNulls(mergePatch []byte) bool {
	_, manifests, _ := bytes.Cut(mergePatch, []byte(`"manifests":[`))
	return bytes.Contains(manifests, []byte(":null"))
}

// Replacement returns a JSON patch that makes of a decoded Work what a merge patch is to make of it, without that loss. It
// changes the Work, and applies only to the resource version in the merge patch, like that.
func Replacement(work map[string]any, mergePatch []byte) ([]byte, error) {
	if err := Merge(work, mergePatch); err != nil {
		return nil, err
	}
	var operations []map[string]any
	for _, field := range []string{"metadata", "spec"} {
		operations = append(operations, map[string]any{"op": "add", "path": "/" + field, "value": work[field]})
	}
	return mustEncode(operations), nil
}

// Merge applies a JSON merge patch to a decoded Work, in place.
func Merge(work map[string]any, mergePatch []byte) error {
	var changes map[string]any
	if err := kjson.Unmarshal(mergePatch, &changes); err != nil {
		return fmt.Errorf("cannot decode the patch of a Work: %w", err)
	}
	merge(work, changes)
	return nil
}

// merge applies a merge patch (RFC 7386).
func merge(obj, patch map[string]any) {
	for key, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case isObject:
			into, _ := obj[key].(map[string]any)
			if into == nil {
				into = map[string]any{}
			}
			merge(into, fields)
			obj[key] = into
		case value == nil:
			delete(obj, key)
		default:
			obj[key] = value
		}
	}
}
