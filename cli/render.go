package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// renderCommand prints the Works of manifests.
type renderCommand struct {
	files, clusters []string
	// policyFiles have override policies, and clusterFiles the Clusters.
	policyFiles, clusterFiles []string
	// namespace is that of manifests without one; empty if none is given.
	namespace   string
	printer     printers.ResourcePrinter
	out, errOut io.Writer
}

func newRender() *cobra.Command {
	r := &renderCommand{}
	print := genericclioptions.NewPrintFlags("").WithDefaultOutput("yaml")
	cmd := &cobra.Command{
		Use:   "render -f FILE --clusters NAME[,NAME...]",
		Short: "Print the Works of manifests, offline",
		Long: "render prints the Works that the daemon would write for manifests on these clusters, whatever clusters\n" +
			"the manifests' own annotations choose. It needs no API server: it takes the UIDs from the file.\n\n" +
			"If manifests name no namespace, give --namespace, as for kubectl apply. Kubernetes' own cluster-scoped kinds do not\n" +
			"get it. render cannot look up the scope of kinds that it does not know: with --namespace, they count as namespaced.\n\n" +
			"What differs by cluster – variables, weights, override policies – it takes from --cluster-file and --policies; the\n" +
			"replicas are divided over the clusters that you name.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if r.printer, err = print.ToPrinter(); err != nil {
				return misuse("%w", err)
			}
			if form := *print.OutputFormat; slices.Contains(print.JSONYamlPrintFlags.AllowedFormats(), form) {
				r.printer = &plainPrinter{isYAML: form == "yaml"}
			}
			r.out, r.errOut = plain{cmd.OutOrStdout()}, plain{cmd.ErrOrStderr()}
			return r.run()
		},
	}
	cmd.Flags().StringSliceVarP(&r.files, "filename", "f", nil, "files, folders or URLs with manifests; - for standard input")
	cmd.Flags().StringSliceVar(&r.clusters, "clusters", nil, "the names of the clusters")
	cmd.Flags().StringSliceVar(&r.policyFiles, "policies", nil, "files or folders with OverridePolicies and ClusterOverridePolicies to apply")
	cmd.Flags().StringSliceVar(&r.clusterFiles, "cluster-file", nil, "files or folders with the Clusters, as in kubectl get clusters -o yaml")
	cmd.Flags().StringVarP(&r.namespace, "namespace", "n", "", "the namespace of manifests that name none")
	print.AddFlags(cmd)
	// The flags exist: they were defined in the lines above.
	_ = cmd.MarkFlagRequired("filename")
	cmd.MarkFlagsOneRequired("clusters", "cluster-file")
	return cmd
}

func (r *renderCommand) run() error {
	clusters, err := r.readClusters()
	if err != nil {
		return err
	}
	policies, err := r.readPolicies()
	if err != nil {
		return err
	}
	return visitFiles(r.files, func(u *unstructured.Unstructured) error {
		if err := r.place(u); err != nil {
			return err
		}
		return r.render(u, clusters, policies)
	})
}

// visitFiles calls visit for each object in files, folders and URLs.
func visitFiles(files []string, visit func(*unstructured.Unstructured) error) error {
	return resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Filenames: files}).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			return visit(info.Object.(*unstructured.Unstructured))
		})
}

// readClusters returns the named clusters, or all those in the files. A named one that is in no
// file says nothing about itself.
func (r *renderCommand) readClusters() ([]*state.Cluster, error) {
	known := map[string]*state.Cluster{}
	if len(r.clusterFiles) > 0 {
		err := visitFiles(r.clusterFiles, func(u *unstructured.Unstructured) error {
			if u.GetKind() != "Cluster" {
				return misuse("%s %q is not a Cluster", u.GetKind(), u.GetName())
			}
			known[u.GetName()] = state.NewCluster(u)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(r.clusters) == 0 {
		return slices.SortedFunc(maps.Values(known), func(a, b *state.Cluster) int { return strings.Compare(a.Name, b.Name) }), nil
	}
	terms, err := render.ParseTerms(strings.Join(r.clusters, ","))
	if err != nil || terms.IsOpen() {
		return nil, misuse("%w", errors.Join(errors.New("--clusters takes names only: render does not look up which clusters there are"), err))
	}
	var clusters []*state.Cluster
	for _, name := range terms.Names() {
		if known[name] == nil {
			u := &unstructured.Unstructured{}
			u.SetName(name)
			known[name] = state.NewCluster(u)
		}
		clusters = append(clusters, known[name])
	}
	return clusters, nil
}

func (r *renderCommand) readPolicies() (policies []*state.Policy, err error) {
	if len(r.policyFiles) == 0 {
		return nil, nil
	}
	err = visitFiles(r.policyFiles, func(u *unstructured.Unstructured) error {
		if u.GetKind() == "OverridePolicy" && u.GetNamespace() == "" && r.namespace != "" {
			u.SetNamespace(r.namespace)
		}
		p := state.NewPolicy(u)
		if p.Fault != "" {
			return errors.New(p.Fault)
		}
		policies = append(policies, p)
		return nil
	})
	return policies, err
}

// clusterScoped are Kubernetes' own kinds without namespaces, by group.
var clusterScoped = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"gateway.networking.k8s.io":    {"GatewayClass"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
}

// place gives a manifest without a namespace the one to use. Works are named after it, so a wrong
// one must not go unnoticed.
func (r *renderCommand) place(u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	switch {
	case u.GetNamespace() != "" || slices.Contains(clusterScoped[gvk.Group], gvk.Kind):
	case r.namespace != "":
		u.SetNamespace(r.namespace)
	case scheme.Scheme.Recognizes(gvk):
		return misuse("cannot render %s %q: it has no namespace: give --namespace", gvk.GroupKind(), u.GetName())
	default:
		warning := fmt.Sprintf("%s %q has no namespace, and is rendered as cluster-scoped: if its kind is namespaced, give --namespace", gvk.GroupKind(), u.GetName())
		fmt.Fprintln(r.errOut, "warning: "+oneLine(warning))
	}
	return nil
}

// render prints the Works of an object.
func (r *renderCommand) render(u *unstructured.Unstructured, clusters []*state.Cluster, policies []*state.Policy) error {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	names := make([]string, 0, len(clusters))
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	annotations[render.ClustersAnnotation] = strings.Join(names, ",")
	delete(annotations, render.ClusterSelectorAnnotation)
	u.SetAnnotations(annotations)
	v := judge.Decide(gather.Offline(judge.NewSource(u, render.Wishes{}), clusters, policies))
	for _, refusal := range v.Refusals {
		if refusal.Reason != judge.UnknownCluster { // of those that the object suspends
			return fmt.Errorf("cannot render %s: %s: %s", v.ID, refusal.Reason, refusal.Message)
		}
	}
	for _, notice := range v.Notices {
		fmt.Fprintln(r.errOut, "warning: "+oneLine(fmt.Sprintf("%s: %s: %s", v.ID, notice.Reason, notice.Message)))
	}
	for _, op := range v.Plan() {
		body, err := op.Body(v)
		work := &unstructured.Unstructured{}
		if err == nil {
			err = work.UnmarshalJSON(body)
		}
		if err != nil {
			return fmt.Errorf("cannot render the Work of %s: %w", v.ID, err)
		}
		if err := r.printer.PrintObj(work, r.out); err != nil {
			return err
		}
	}
	return nil
}
