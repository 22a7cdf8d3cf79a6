package override

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
)

// Stripped returns how many tokens of a path lead to a field that an object may have had when its author wrote policies for it,
// and that was removed since; 0 if the path leads to none. Karmada overrides the object as it was
// (https://github.com/karmada-io/karmada/issues/2810).
type Stripped func(obj map[string]any, path []string) int

// adapt makes operations on what was removed succeed, as they would have before: there is nothing left to remove, nor to change
// within it, and to replace it is to add it.
func (s Stripped) adapt(obj map[string]any, operations []operation) []operation {
	adapted, added := slices.Clone(operations), map[string]bool{} // added by an earlier operation
	for i, o := range operations {
		path := tokensOf(o.Path)
		n := s.lengthIn(obj, path)
		root, isAll := strings.Join(path[:n], "/"), n == len(path)
		switch {
		case n == 0 || !isOperator(o.Op):
		case added[root]:
			added[root] = !isAll || o.Op != policyv1alpha1.OverriderOpRemove
		case len(path) == n+1 && (path[n] == "-" || path[n] == "0") && o.Op == policyv1alpha1.OverriderOpAdd: // to a list that has lost all its items
			adapted[i] = operation{o.Op, o.Path[:strings.LastIndex(o.Path, "/")], slices.Concat([]byte("["), o.Value, []byte("]"))}
			added[root] = true
		case isAll && o.Op != policyv1alpha1.OverriderOpRemove:
			adapted[i].Op, added[root] = policyv1alpha1.OverriderOpAdd, true
		default:
			adapted[i] = nothing(obj)
		}
	}
	return adapted
}

// nothing is an operation that changes nothing.
func nothing(obj map[string]any) operation {
	kind, _ := json.Marshal(obj["kind"]) // it was decoded from JSON
	return operation{policyv1alpha1.OverriderOpReplace, "/kind", kind}
}

// lengthIn is the length of the path to what was removed, and is not there again.
func (s Stripped) lengthIn(obj map[string]any, path []string) int {
	if s == nil {
		return 0
	}
	n, at := s(obj, path), any(obj)
	for _, token := range path[:n] {
		switch v := at.(type) {
		case map[string]any:
			field, has := v[token]
			if !has {
				return n
			}
			at = field
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return 0
			}
			at = v[i]
		default:
			return n
		}
	}
	return 0
}

// tokensOf splits a JSON pointer.
func tokensOf(pointer string) []string {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range tokens {
		tokens[i] = unescape(tokens[i])
	}
	return tokens
}
