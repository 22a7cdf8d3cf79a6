package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sort"

	jsonpatch "github.com/evanphx/json-patch/v5"
	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// operation is one step of a JSON patch. A missing value is null, as in Karmada.
type operation struct {
	Op    policyv1alpha1.OverriderOperator `json:"op"`
	Path  string                           `json:"path"`
	Value json.RawMessage                  `json:"value"`
}

func plaintext(overriders []policyv1alpha1.PlaintextOverrider) []operation {
	operations := make([]operation, 0, len(overriders))
	for _, o := range overriders {
		operations = append(operations, operation{o.Operator, o.Path, o.Value.Raw})
	}
	return operations
}

// patchObject replaces an object by what the operations make of it, all or none.
func patchObject(obj map[string]any, operations []operation) error {
	if len(operations) == 0 {
		return nil
	}
	encoded, err := json.Marshal(obj)
	if err != nil {
		return errors.New(": the object cannot be encoded")
	}
	patched, err := patch(encoded, operations)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(patched, &fields); err != nil || fields == nil {
		return errors.New(": the result is not an object")
	}
	clear(obj)
	maps.Copy(obj, fields)
	return nil
}

// patch applies operations to a JSON document. Its library is the one that Karmada uses, not
// the older version that client-go brings: that one sorts the fields of a JSON document in a
// ConfigMap, so the members would get another text.
//
// An error begins with the index of the first operation that fails, and repeats nothing of
// the library's text, which may quote the document.
func patch(document []byte, operations []operation) ([]byte, error) {
	patched, err := tryPatch(document, operations)
	if err == nil {
		return patched, nil
	}
	failing := sort.Search(len(operations), func(i int) bool {
		_, err := tryPatch(document, operations[:i+1])
		return err != nil
	})
	if failing == len(operations) {
		return nil, errors.New(": the result is not valid")
	}
	why := "it does not fit what is there"
	if errors.Is(err, jsonpatch.ErrMissing) {
		why = "there is nothing"
	}
	o := operations[failing]
	return nil, fmt.Errorf("[%d]: cannot %.20q at %+.100q: %s", failing, o.Op, o.Path, why)
}

// tryPatch returns an error where the library panics: it does so on an operation at an index
// after one that has replaced the whole document by null.
func tryPatch(document []byte, operations []operation) (patched []byte, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the library panics")
		}
	}()
	for _, o := range operations {
		if !isOperator(o.Op) {
			return nil, errors.New("unknown operator")
		}
	}
	encoded, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		return nil, err
	}
	return decoded.Apply(document)
}

func isOperator(o policyv1alpha1.OverriderOperator) bool {
	return o == policyv1alpha1.OverriderOpAdd || o == policyv1alpha1.OverriderOpRemove || o == policyv1alpha1.OverriderOpReplace
}
