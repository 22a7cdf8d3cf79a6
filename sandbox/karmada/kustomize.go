package karmada

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// ApplyKustomization applies what `kubectl apply -k dir` would.
func ApplyKustomization(ctx context.Context, config *rest.Config, dir string) error {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return fmt.Errorf("cannot build %q: %w", dir, err)
	}
	manifests, err := resources.AsYaml()
	if err != nil {
		return fmt.Errorf("cannot encode %q: %w", dir, err)
	}
	return Apply(ctx, config, manifests)
}
