package override

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// overrideField changes the document in a field that holds a string.
func overrideField(obj map[string]any, f policyv1alpha1.FieldOverrider, stripped Stripped) error {
	path, ok := strings.CutPrefix(f.FieldPath, "/")
	if !ok {
		return fmt.Errorf(": the fieldPath %+.100q does not begin with /", f.FieldPath)
	}
	change := func(text string) (string, error) { return patchJSON(text, f.JSON) }
	switch {
	case len(f.YAML) > 0:
		change = func(text string) (string, error) { return patchYAML(text, f.YAML) }
	case len(f.JSON) == 0:
		return errors.New(": it has neither json nor yaml")
	}
	if stripped.lengthIn(obj, tokensOf(f.FieldPath)) > 0 {
		return nil
	}
	_, err := changeText(obj, strings.Split(path, "/"), change)
	if errors.Is(err, errNoText) {
		return fmt.Errorf(": %w at %+.100q", errNoText, f.FieldPath)
	}
	return err
}

var errNoText = errors.New("there is no string")

// changeText changes, in place, the string that is below value. It resolves the path as
// github.com/go-openapi/jsonpointer does, which Karmada uses.
func changeText(value any, path []string, change func(string) (string, error)) (any, error) {
	if len(path) == 0 {
		text, ok := value.(string)
		if !ok {
			return nil, errNoText
		}
		return change(text)
	}
	token := unescape(path[0])
	switch v := value.(type) {
	case map[string]any:
		field, ok := v[token]
		if !ok {
			return nil, errNoText
		}
		changed, err := changeText(field, path[1:], change)
		if err == nil {
			v[token] = changed
		}
		return v, err
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, errNoText
		}
		changed, err := changeText(v[i], path[1:], change)
		if err == nil {
			v[i] = changed
		}
		return v, err
	}
	return nil, errNoText
}

// escapes are those of a JSON pointer. One pass decodes ~01 to ~1, as it should.
var escapes = strings.NewReplacer("~1", "/", "~0", "~")

func unescape(token string) string { return escapes.Replace(token) }

func patchJSON(text string, list []policyv1alpha1.JSONPatchOperation) (string, error) {
	operations := make([]operation, 0, len(list))
	for _, o := range list {
		operations = append(operations, operation{o.Operator, o.SubPath, o.Value.Raw})
	}
	patched, err := patch([]byte(text), operations)
	if err != nil {
		return "", fmt.Errorf(".json%w", err)
	}
	return string(patched), nil
}

// maxDocument is how many bytes a YAML document may have once its aliases are replaced: a few
// kilobytes of them can stand for gigabytes.
const maxDocument = 1536 << 10

// sizeOf returns about how many bytes a node has once its aliases are replaced, or more than
// maxDocument if it has more, or contains itself.
func sizeOf(n *yamlv3.Node, known map[*yamlv3.Node]int) int {
	if size, ok := known[n]; ok {
		return size
	}
	known[n] = maxDocument + 1 // while it is counted: what contains itself has no size
	size := len(n.Value) + 1
	if n.Kind == yamlv3.AliasNode {
		size = sizeOf(n.Alias, known)
	}
	for _, child := range n.Content {
		size = min(size+sizeOf(child, known), maxDocument+1)
	}
	known[n] = size
	return size
}

func patchYAML(text string, list []policyv1alpha1.YAMLPatchOperation) (string, error) {
	operations := make([]operation, 0, len(list))
	for _, o := range list {
		operations = append(operations, operation{o.Operator, o.SubPath, o.Value.Raw})
	}
	var parsed yamlv3.Node
	if yamlv3.Unmarshal([]byte(text), &parsed) != nil {
		return "", errors.New(".yaml: the field is not YAML")
	}
	if sizeOf(&parsed, map[*yamlv3.Node]int{}) > maxDocument {
		return "", errors.New(".yaml: the field has aliases that stand for more than the 1.5 MiB that etcd accepts")
	}
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return "", errors.New(".yaml: the field is not YAML")
	}
	patched, err := patch(document, operations)
	if err != nil {
		return "", fmt.Errorf(".yaml%w", err)
	}
	encoded, err := yaml.JSONToYAML(patched)
	if err != nil {
		return "", errors.New(".yaml: the result cannot be encoded")
	}
	return string(encoded), nil
}
