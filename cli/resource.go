package cli

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
)

// mappingOf resolves TYPE as kubectl does: deploy, deployments, deployments.apps,
// deployments.v1.apps, or the kind, Deployment.apps.
func mappingOf(flags *genericclioptions.ConfigFlags, resource string) (*meta.RESTMapping, error) {
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("cannot discover resources: %w", err)
	}
	return mappingBy(mapper, resource)
}

// servedNow says what is served, as the API server says now: what another command has kept may be six hours old.
func servedNow(flags *genericclioptions.ConfigFlags) (meta.RESTMapper, error) {
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("cannot discover resources: %w", err)
	}
	client.Invalidate()
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("cannot discover resources: %w", err)
	}
	return mapper, nil
}

// mappingBy is [mappingOf] by a mapper.
func mappingBy(mapper meta.RESTMapper, resource string) (*meta.RESTMapping, error) {
	versioned, plain := schema.ParseResourceArg(resource)
	if versioned == nil {
		versioned = new(plain.WithVersion(""))
	}
	kind, err := mapper.KindFor(*versioned)
	if err != nil && versioned.Version != "" {
		kind, err = mapper.KindFor(plain.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		if mapping, err := mapper.RESTMapping(schema.ParseGroupKind(resource)); err == nil {
			return mapping, nil
		}
		return nil, unknownType{resource, err}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot tell what %q is: %w", resource, err)
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what %q is: %w", resource, err)
	}
	return mapping, nil
}

// unknownType says that the API server serves no resource of a name, in kubectl's words.
type unknownType struct {
	name string
	error
}

func (u unknownType) Error() string {
	return fmt.Sprintf("the server doesn't have a resource type %q", u.name)
}

func (u unknownType) Unwrap() error { return u.error }

// resourceOf resolves a resource, even one that is no longer served: that must be given by
// its full name, and its kind and version are unknown.
func resourceOf(flags *genericclioptions.ConfigFlags, resource string) (*meta.RESTMapping, error) {
	mapper, err := servedNow(flags)
	if err != nil {
		return nil, err
	}
	mapping, err := mappingBy(mapper, resource)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	unserved := schema.ParseGroupResource(resource)
	if err := undiscovered(flags, unserved.Group); err != nil {
		return nil, fmt.Errorf("cannot tell what %q is: %w", resource, err)
	}
	return &meta.RESTMapping{Resource: unserved.WithVersion("")}, nil
}

// undiscovered returns an error if it is not known what a group serves or, if that is empty, any group: a mapper does not tell
// that from a group that serves nothing.
func undiscovered(flags *genericclioptions.ConfigFlags, group string) error {
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return err
	}
	_, _, err = client.ServerGroupsAndResources()
	failed, isPartial := discovery.GroupDiscoveryFailedErrorGroups(err)
	for version := range failed {
		isPartial = isPartial && version.Group != group
	}
	if isPartial && group != "" {
		return nil
	}
	return err
}
