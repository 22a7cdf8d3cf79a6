package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

// The forms in which arguments name an object or a resource.
const (
	oneUsage  = "TYPE NAME | TYPE/NAME"
	someUsage = "[TYPE [NAME...] | TYPE/NAME...]"
	someHelp  = "Give TYPE and NAME as for kubectl (deploy web, deployments.apps web, deploy/web), or a SOURCE as status prints it\n" +
		"(Deployment.apps/shop/web)."
)

// named resolves arguments as kubectl does: TYPE NAME..., TYPE/NAME..., or the form that we
// print, KIND.GROUP/NAMESPACE/NAME. For TYPE alone it returns the mapping and no objects.
func (s *sources) named(args []string) (refs []gather.SourceRef, kind *meta.RESTMapping, err error) {
	if len(args) == 0 {
		return nil, nil, nil
	}
	if !strings.Contains(args[0], "/") {
		return s.namedOf(args[0], args[1:])
	}
	for _, arg := range args {
		ref, err := s.slashed(arg)
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil, nil
}

func (s *sources) namedOf(resource string, names []string) (refs []gather.SourceRef, kind *meta.RESTMapping, err error) {
	if kind, err = mappingOf(s.flags, resource); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if strings.Contains(name, "/") {
			return nil, nil, fmt.Errorf("cannot use %q after TYPE %q: give TYPE NAME..., or TYPE/NAME...", name, resource)
		}
		ref, err := s.refer(kind, "", name)
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, ref)
	}
	return refs, kind, nil
}

// slashed resolves TYPE/NAME and KIND.GROUP/NAMESPACE/NAME.
func (s *sources) slashed(arg string) (gather.SourceRef, error) {
	parts := strings.Split(arg, "/")
	namespace := ""
	if len(parts) == 3 {
		namespace = parts[1]
	}
	if n := len(parts); n < 2 || n > 3 || parts[0] == "" || parts[n-1] == "" || n == 3 && namespace == "" {
		return gather.SourceRef{}, fmt.Errorf("cannot use %q: give TYPE/NAME, or a SOURCE as status prints it, TYPE/NAMESPACE/NAME", arg)
	}
	kind, err := mappingOf(s.flags, parts[0])
	if err != nil {
		return gather.SourceRef{}, err
	}
	if namespace != "" && kind.Scope.Name() != meta.RESTScopeNameNamespace {
		return gather.SourceRef{}, fmt.Errorf("cannot use %q: %s are not namespaced", arg, kind.Resource.GroupResource())
	}
	return s.refer(kind, namespace, parts[len(parts)-1])
}
