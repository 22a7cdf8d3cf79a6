// Command hyperkarmada is every server-side component of a Karmada control plane and of
// its members, and kubectl, in one binary: one link instead of ten. The first argument,
// or the name of the binary, selects the component.
//
// It is compiled with the Karmada of go.mod, or with an older one (package build).
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	agent "github.com/karmada-io/karmada/cmd/agent/app"
	aggregated "github.com/karmada-io/karmada/cmd/aggregated-apiserver/app"
	karmadacontrollers "github.com/karmada-io/karmada/cmd/controller-manager/app"
	karmadascheduler "github.com/karmada-io/karmada/cmd/scheduler/app"
	webhook "github.com/karmada-io/karmada/cmd/webhook/app"
	"github.com/karmada-io/karmada/pkg/features"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/klog/v2"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	ctrl "sigs.k8s.io/controller-runtime"
)

// components maps a component's usual name to its command. A constructor runs only if
// its component is selected: constructors register flags and metrics in package-level
// registries and would collide.
var components = map[string]func(context.Context) *cobra.Command{
	"kube-apiserver":               func(context.Context) *cobra.Command { return kubeapiserver.NewAPIServerCommand() },
	"kube-controller-manager":      func(context.Context) *cobra.Command { return kubecontrollers.NewControllerManagerCommand() },
	"kube-scheduler":               func(context.Context) *cobra.Command { return kubescheduler.NewSchedulerCommand() },
	"karmada-controller-manager":   karmadacontrollers.NewControllerManagerCommand,
	"karmada-scheduler":            func(ctx context.Context) *cobra.Command { return karmadascheduler.NewSchedulerCommand(ctx) },
	"karmada-webhook":              webhook.NewWebhookCommand,
	"karmada-aggregated-apiserver": newAggregatedAPIServer,
	"karmada-agent":                newAgent,
	"kubectl":                      func(context.Context) *cobra.Command { return kubectl.NewDefaultKubectlCommand() },
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := components[name]; !known && name != "etcd" && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	newCommand, known := components[name]
	if !known {
		names := append(slices.Collect(maps.Keys(components)), "etcd")
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: hyperkarmada COMPONENT [flags]\ncomponents: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	ctx := context.Background()
	if strings.HasPrefix(name, "karmada-") {
		ctx = ctrl.SetupSignalHandler()
		ctrl.SetLogger(klog.Background())
	}
	os.Exit(cli.Run(newCommand(ctx)))
}

func newAgent(ctx context.Context) *cobra.Command { return agent.NewAgentCommand(ctx) }

// newAggregatedAPIServer registers Karmada's feature gates one by one before the
// component registers them in bulk. In one binary with Kubernetes, some names are
// already registered; the bulk registration then fails as a whole (Karmada drops its
// error), and creating a Cluster panics on the unknown gate.
func newAggregatedAPIServer(ctx context.Context) *cobra.Command {
	for name, spec := range features.DefaultFeatureGates {
		if err := utilfeature.DefaultMutableFeatureGate.Add(map[featuregate.Feature]featuregate.FeatureSpec{name: spec}); err != nil {
			klog.V(4).Infof("feature gate %s is already registered: %v", name, err)
		}
	}
	return aggregated.NewAggregatedApiserverCommand(ctx)
}
