package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

// renderCommand prints the Works of manifests.
type renderCommand struct {
	files, clusters []string
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
			"get it. render cannot look up the scope of kinds that it does not know: with --namespace, they count as namespaced.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if r.printer, err = print.ToPrinter(); err != nil {
				return misuse("%w", err)
			}
			r.out, r.errOut = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return r.run()
		},
	}
	cmd.Flags().StringSliceVarP(&r.files, "filename", "f", nil, "files, folders or URLs with manifests; - for standard input")
	cmd.Flags().StringSliceVar(&r.clusters, "clusters", nil, "the names of the clusters")
	cmd.Flags().StringVarP(&r.namespace, "namespace", "n", "", "the namespace of manifests that name none")
	print.AddFlags(cmd)
	// The flags exist: they were defined in the lines above.
	_, _ = cmd.MarkFlagRequired("filename"), cmd.MarkFlagRequired("clusters")
	return cmd
}

func (r *renderCommand) run() error {
	terms, err := render.ParseTerms(strings.Join(r.clusters, ","))
	if err != nil || terms.IsOpen() {
		return misuse("%w", errors.Join(errors.New("--clusters takes names only: render does not look up which clusters there are"), err))
	}
	return resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Filenames: r.files}).Flatten().Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			u := info.Object.(*unstructured.Unstructured)
			if err := r.place(u); err != nil {
				return err
			}
			return r.render(u, terms.Names())
		})
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
		fmt.Fprintln(r.errOut, "warning: "+harmless(oneLine(warning)))
	}
	return nil
}

// render prints the Works of an object.
func (r *renderCommand) render(u *unstructured.Unstructured, clusters []string) error {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[render.ClustersAnnotation] = strings.Join(clusters, ",")
	u.SetAnnotations(annotations)
	source := judge.NewSource(u, render.Wishes{})
	if source.Refusal != nil {
		return fmt.Errorf("cannot render %s: %s: %s", source.ID, source.Refusal.Reason, source.Refusal.Message)
	}
	works := source.Template.Works()
	for _, cluster := range clusters {
		work := &unstructured.Unstructured{}
		if err := work.UnmarshalJSON(works.For(cluster)); err != nil {
			return fmt.Errorf("cannot decode the Work of %s: %w", source.ID, err)
		}
		if err := r.printer.PrintObj(work, r.out); err != nil {
			return err
		}
	}
	return nil
}
