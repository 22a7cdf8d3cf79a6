package override

import "strings"

// Stripped returns how many tokens of a path lead to a field that an object may have had when its author wrote policies for it,
// and that was removed since; 0 if the path leads to none. Karmada overrides the object as it was
// (https://github.com/karmada-io/karmada/issues/2810).
type Stripped func(path []string) int

// adapt makes operations on what was removed succeed, as they would have before: there is nothing left to remove, nor to change
// within it, and to replace it is to add it.
func (s Stripped) adapt(obj map[string]any, operations []operation) (adapted []operation) {
	for _, o := range operations {
		path := tokensOf(o.Path)
		switch n := s.lengthIn(obj, path); {
		case n == 0:
			adapted = append(adapted, o)
		case n == len(path) && o.Op != "remove":
			o.Op = "add"
			adapted = append(adapted, o)
		}
	}
	return adapted
}

// lengthIn is the length of the path to what was removed, and is not there again.
func (s Stripped) lengthIn(obj map[string]any, path []string) int {
	if s == nil {
		return 0
	}
	n := s(path)
	for _, token := range path[:n] {
		field, has := obj[token]
		if !has {
			return n
		}
		obj, _ = field.(map[string]any)
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
