package cli

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/render"
)

// nearMiss matches keys that are probably meant to be an annotation of ours: in another domain, with the domain's parts in another order, or
// without one.
var nearMiss = regexp.MustCompile(`(?i)^([a-z0-9.-]*(karmada[a-z0-9.-]*target|target[a-z0-9.-]*karmada)[a-z0-9.-]*/.+|(karmada\.io|mirror\.karmada[a-z.]*)/(clusters?|cluster-?selector|targets?))$`)

// misplaced returns what in an object that is mirrored nowhere probably says where to mirror it, in a place where it does not. What cannot be
// read says nothing.
func (e *explainCommand) misplaced(ctx context.Context, ref gather.SourceRef) (steps []explainedStep) {
	obj, err := e.client.Resource(ref.Mapping.Resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	for _, place := range []struct {
		path []string
		name string
		isIn func(key string) bool
	}{
		{[]string{"metadata", "annotations"}, "metadata.annotations", func(key string) bool { return nearMiss.MatchString(key) && !strings.HasPrefix(key, render.Domain) }},
		{[]string{"metadata", "labels"}, "metadata.labels", nearMiss.MatchString},
		{[]string{"spec", "template", "metadata", "annotations"}, "spec.template.metadata.annotations", nearMiss.MatchString},
		{[]string{"spec", "jobTemplate", "metadata", "annotations"}, "spec.jobTemplate.metadata.annotations", nearMiss.MatchString},
	} {
		found, _, _ := unstructured.NestedStringMap(obj.Object, place.path...)
		for _, key := range slices.Sorted(maps.Keys(found)) {
			if place.isIn(key) {
				_, name, _ := strings.Cut(key, "/")
				hint := "is " + render.Domain + strings.ToLower(name) + " meant?"
				if place.name != "metadata.annotations" {
					hint = "karmada-mirror reads metadata.annotations: " + hint
				}
				steps = append(steps, explainedStep{What: fmt.Sprintf("%s has %s", place.name, key), Hint: hint})
			}
		}
	}
	return steps
}
