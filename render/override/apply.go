package override

import (
	"errors"
	"fmt"
	"reflect"

	policyv1alpha1 "github.com/karmada-io/api/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ErrIdentity is returned for a policy that would make an object another one.
var ErrIdentity = errors.New("it would change apiVersion, kind, name or namespace")

// Apply changes a manifest in place. An error names the policy and the field of it that
// fails, and repeats nothing of the manifest, which may be a Secret; the manifest is then
// half-changed.
//
// The labels and annotations of the manifest are present meanwhile, even if empty: Karmada
// overrides a template on which it has set some of its own (AddPPClaimMetadata in
// pkg/detector/claim.go, v1.18.2), so an operation may add to them.
func (o Overrides) Apply(obj map[string]any) error {
	if o.IsEmpty() {
		return nil
	}
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("cannot apply %s: the object has no metadata", o.steps[0].policy)
	}
	for _, field := range []string{"labels", "annotations"} {
		if metadata[field] == nil {
			metadata[field] = map[string]any{}
		}
	}
	for _, s := range o.steps {
		if err := s.apply(obj); err != nil {
			return fmt.Errorf("cannot apply %s: %s%w", s.policy, s.rule.field, err)
		}
	}
	metadata, _ = obj["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if entries, ok := metadata[field].(map[string]any); ok && len(entries) == 0 {
			delete(metadata, field)
		}
	}
	return nil
}

func (s step) apply(obj map[string]any) error {
	before := identityOf(obj)
	if err := applyOverriders(obj, &s.rule.overriders, s.stripped); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, identityOf(obj)) {
		return fmt.Errorf(": %w", ErrIdentity)
	}
	return nil
}

// identityOf returns the fields as they are: an override may make any of them a list.
func identityOf(obj map[string]any) (fields [4]any) {
	fields[0], fields[1] = obj["apiVersion"], obj["kind"]
	fields[2], _, _ = unstructured.NestedFieldNoCopy(obj, "metadata", "name")
	fields[3], _, _ = unstructured.NestedFieldNoCopy(obj, "metadata", "namespace")
	return fields
}

// applyOverriders keeps the order of applyPolicyOverriders in
// pkg/util/overridemanager/overridemanager.go, v1.18.2.
func applyOverriders(obj map[string]any, o *policyv1alpha1.Overriders, stripped Stripped) error {
	changeList := func(field string) func(policyv1alpha1.CommandArgsOverrider) error {
		return func(c policyv1alpha1.CommandArgsOverrider) error { return overrideCommand(obj, field, c) }
	}
	changeKeys := func(field string) func(policyv1alpha1.LabelAnnotationOverrider) error {
		return func(l policyv1alpha1.LabelAnnotationOverrider) error { return overrideKeys(obj, field, l) }
	}
	if err := each(".imageOverrider", o.ImageOverrider, func(i policyv1alpha1.ImageOverrider) error { return overrideImages(obj, i) }); err != nil {
		return err
	}
	if err := each(".commandOverrider", o.CommandOverrider, changeList("command")); err != nil {
		return err
	}
	if err := each(".argsOverrider", o.ArgsOverrider, changeList("args")); err != nil {
		return err
	}
	if err := each(".labelsOverrider", o.LabelsOverrider, changeKeys("labels")); err != nil {
		return err
	}
	if err := each(".annotationsOverrider", o.AnnotationsOverrider, changeKeys("annotations")); err != nil {
		return err
	}
	if err := each(".fieldOverrider", o.FieldOverrider, func(f policyv1alpha1.FieldOverrider) error { return overrideField(obj, f, stripped) }); err != nil {
		return err
	}
	if err := patchObject(obj, stripped.adapt(obj, plaintext(o.Plaintext))); err != nil {
		return fmt.Errorf(".plaintext%w", err)
	}
	return nil
}

// each applies the overriders of one field, and adds the field to an error.
func each[T any](field string, overriders []T, apply func(T) error) error {
	for i, overrider := range overriders {
		if err := apply(overrider); err != nil {
			return fmt.Errorf("%s[%d]%w", field, i, err)
		}
	}
	return nil
}
