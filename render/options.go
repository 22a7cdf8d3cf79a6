package render

import (
	"fmt"

	workv1alpha2 "github.com/karmada-io/api/work/v1alpha2"
)

// Options are what a source asks of its Works besides their targets.
type Options struct {
	Suspend, PreserveOnDeletion, Overwrite bool
}

// ParseOptions reads the options from a source's annotations.
func ParseOptions(annotations map[string]string) (Options, error) {
	var o Options
	var err error
	if o.Suspend, err = parseChoice(annotations, SuspendAnnotation, "false", "true"); err != nil {
		return Options{}, err
	}
	if o.PreserveOnDeletion, err = parseChoice(annotations, PreserveOnDeletionAnnotation, "false", "true"); err != nil {
		return Options{}, err
	}
	o.Overwrite, err = parseChoice(annotations, ConflictResolutionAnnotation,
		workv1alpha2.ResourceConflictResolutionAbort, workv1alpha2.ResourceConflictResolutionOverwrite)
	if err != nil {
		return Options{}, err
	}
	return o, nil
}

// parseChoice is true for yes, false for no and for no annotation.
func parseChoice(annotations map[string]string, key, no, yes string) (bool, error) {
	value, ok := annotations[key]
	switch {
	case !ok || value == no:
		return false, nil
	case value == yes:
		return true, nil
	default:
		return false, fmt.Errorf("%s: %s is neither %q nor %q", key, quote(value), yes, no)
	}
}
