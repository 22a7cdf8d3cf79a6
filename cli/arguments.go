package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
)

// The forms in which arguments name an object or a resource.
const (
	oneUsage  = "TYPE NAME... | TYPE/NAME..."
	someUsage = "[TYPE[,TYPE...] [NAME...] | TYPE/NAME...]"
	someHelp  = "Give TYPE and NAME as for kubectl (deploy web, deployments.apps web, deploy/web), or a SOURCE as status prints it\n" +
		"(Deployment.apps/shop/web)."
)

// someObjects checks the form of arguments that name any number of objects, or a resource.
func someObjects(_ *cobra.Command, args []string) error {
	if slices.Contains(args, "") || len(args) > 0 && slices.Contains(strings.Split(args[0], ","), "") {
		return errors.New("cannot use an empty argument: give TYPE NAME..., or one or more TYPE/NAME")
	}
	if len(args) > 0 && !strings.Contains(args[0], "/") {
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return fmt.Errorf("cannot use %q after TYPE %q: give TYPE NAME..., or one or more TYPE/NAME", name, args[0])
			}
		}
		return nil
	}
	for _, arg := range args {
		if parts := strings.Split(arg, "/"); len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			return fmt.Errorf("cannot use %q: give TYPE/NAME, or a SOURCE as status prints it, TYPE/NAMESPACE/NAME", arg)
		}
	}
	return nil
}

// objects is someObjects for a command that needs at least one.
func objects(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 1 && !strings.Contains(args[0], "/") {
		return errors.New("give the NAME of an object, after its TYPE or as TYPE/NAME")
	}
	return someObjects(cmd, args)
}

// named resolves arguments as kubectl does: TYPE NAME..., TYPE/NAME..., or the form that we
// print, KIND.GROUP/NAMESPACE/NAME. TYPE may be several, with commas between them; alone, it returns the mappings and no objects. The
// arguments have passed someObjects.
func (s *sources) named(args []string) (refs []gather.SourceRef, kinds []*meta.RESTMapping, err error) {
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

func (s *sources) namedOf(resources string, names []string) (refs []gather.SourceRef, kinds []*meta.RESTMapping, err error) {
	for resource := range strings.SplitSeq(resources, ",") {
		kind, err := s.mappingOf(resource)
		if err != nil {
			return nil, nil, err
		}
		kinds = append(kinds, kind)
		for _, name := range names {
			ref, err := s.refer(kind, "", name)
			if err != nil {
				return nil, nil, err
			}
			refs = append(refs, ref)
		}
	}
	return refs, kinds, nil
}

// slashed resolves TYPE/NAME and KIND.GROUP/NAMESPACE/NAME.
func (s *sources) slashed(arg string) (gather.SourceRef, error) {
	parts := strings.Split(arg, "/")
	kind, err := s.mappingOf(parts[0])
	if err != nil {
		return gather.SourceRef{}, err
	}
	if len(parts) == 2 {
		return s.refer(kind, "", parts[1])
	}
	if kind.Scope.Name() != meta.RESTScopeNameNamespace {
		return gather.SourceRef{}, misuse("cannot use %q: %s are not namespaced", arg, kind.Resource.GroupResource())
	}
	return s.refer(kind, parts[1], parts[2])
}
