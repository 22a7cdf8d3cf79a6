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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/gather"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
)

// renderCommand prints the Works of manifests.
type renderCommand struct {
	manifests
	clusters []string
	// policyFiles have override policies, clusterFiles the Clusters, and configFiles the configuration.
	policyFiles, clusterFiles, configFiles []string
	// namespace is that of manifests without one; empty if none is given.
	namespace   string
	printer     printers.ResourcePrinter
	in          io.Reader
	out, errOut io.Writer
}

func newRender() *cobra.Command {
	r := &renderCommand{}
	print := genericclioptions.NewPrintFlags("").WithDefaultOutput("yaml")
	cmd := &cobra.Command{
		Use:   "render -f FILE --clusters NAME[,NAME...]",
		Short: "Print the Works of manifests, offline",
		Long: "render prints the Works that the daemon would write for manifests, and nothing else: it decides as the daemon does. It\n" +
			"needs no API server: it takes the UIDs from the files. Namespaces among the manifests have the defaults for the others,\n" +
			"and autoscalers, override policies and CustomResourceDefinitions among them count as well.\n\n" +
			"With --clusters, the Works are those for these clusters, whatever clusters the annotations choose. With --cluster-file\n" +
			"alone, the annotations choose among the clusters in the files. What differs by cluster – variables, weights, what\n" +
			"policies select – is taken from there, too; the replicas are divided over the clusters that get the object.\n\n" +
			"With --config, only the resources in that configuration are mirrored, as it says. Otherwise, those of all manifests are.\n\n" +
			"If manifests name no namespace, give --namespace, as for kubectl apply. Kubernetes' own cluster-scoped kinds do not\n" +
			"get it. render cannot look up the scope of kinds that it does not know: with --namespace, they count as namespaced.\n\n" +
			"What is not mirrored is said on standard error. If the daemon would refuse an object, render prints the Works of the\n" +
			"others, and fails.",
		Example: "  karmada-mirror render -f web.yaml --clusters member1,member2\n  kustomize build . | karmada-mirror render -f - --cluster-file clusters.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if r.printer, err = print.ToPrinter(); err != nil {
				return misuse("%w", err)
			}
			if form := *print.OutputFormat; slices.Contains(print.JSONYamlPrintFlags.AllowedFormats(), form) {
				r.printer = &plainPrinter{isYAML: form == "yaml"}
			}
			r.in, r.out, r.errOut = cmd.InOrStdin(), plain{cmd.OutOrStdout()}, plain{cmd.ErrOrStderr()}
			return r.run()
		},
	}
	r.register(cmd)
	cmd.Flags().StringSliceVar(&r.clusters, "clusters", nil, "the names of the clusters")
	cmd.Flags().StringSliceVar(&r.policyFiles, "policies", nil, "files or folders with more OverridePolicies and ClusterOverridePolicies")
	cmd.Flags().StringSliceVar(&r.clusterFiles, "cluster-file", nil, "files or folders with the Clusters, as in kubectl get clusters -o yaml")
	cmd.Flags().StringSliceVar(&r.configFiles, "config", nil, "files with the daemon's configuration, as for validate")
	cmd.Flags().StringVarP(&r.namespace, "namespace", "n", "", "the namespace of manifests that name none")
	print.AddFlags(cmd)
	cmd.MarkFlagsOneRequired("filename", "kustomize")
	cmd.MarkFlagsOneRequired("clusters", "cluster-file")
	return cmd
}

func (r *renderCommand) run() error {
	clusters, err := r.readClusters()
	if err != nil {
		return err
	}
	var configuration *config.Configuration
	if len(r.configFiles) > 0 {
		parts, err := readParts(r.configFiles, r.in)
		if err == nil {
			configuration, err = parts.Parse()
		}
		if err != nil {
			return err
		}
	}
	manifests, errs := r.readManifests()
	policies, err := r.readPolicies()
	if err != nil {
		return err
	}
	files := gather.NewFiles(configuration, clusters, append(slices.Clone(manifests), policies...))
	if len(r.clusters) > 0 {
		for _, u := range manifests {
			chooseClusters(files, u, clusters)
		}
	}
	for _, u := range manifests {
		if err := r.render(files, u); err != nil {
			errs = append(errs, fmt.Errorf("cannot render %s: %w", gather.IdentityOf(u), err))
		}
	}
	return errors.Join(errs...)
}

// chooseClusters replaces the choice of clusters of an object that asks to be mirrored, or would if it were annotated.
func chooseClusters(files *gather.Files, u *unstructured.Unstructured, clusters []*state.Cluster) {
	if !files.Asks(u) && files.AsksByDefault(u.GetNamespace()) {
		return // it is not covered by the default
	}
	names := make([]string, 0, len(clusters))
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[render.ClustersAnnotation] = strings.Join(names, ",")
	delete(annotations, render.ClusterSelectorAnnotation)
	u.SetAnnotations(annotations)
}

// readManifests returns the manifests, and why others cannot be rendered. Of two of the same object, it returns the last.
func (r *renderCommand) readManifests() (all []*unstructured.Unstructured, errs []error) {
	var read []*unstructured.Unstructured
	if err := visitFiles(r.FilenameOptions, func(u *unstructured.Unstructured) error {
		read = append(read, u)
		return nil
	}); err != nil {
		errs = append(errs, err)
	}
	at, scopes := map[render.Identity]int{}, scopesIn(read)
	for _, u := range read {
		if u.GroupVersionKind().Group == "kustomize.config.k8s.io" {
			r.tell("not mirrored: a kustomization: give its folder with -k to build it")
			continue
		}
		if err := r.place(u, scopes[u.GroupVersionKind().GroupKind()]); err != nil {
			errs = append(errs, err)
			continue
		}
		id := gather.IdentityOf(u)
		if i, isTwice := at[id]; isTwice {
			r.tell("warning: %s: there is another manifest of it before: the last one counts", id)
			all[i] = u
			continue
		}
		at[id] = len(all)
		all = append(all, u)
	}
	return all, errs
}

// scopesIn returns the scopes of the kinds that definitions among the manifests define, as they name these.
func scopesIn(manifests []*unstructured.Unstructured) map[schema.GroupKind]string {
	scopes := map[schema.GroupKind]string{{Group: state.PolicyKind.Group, Kind: state.PolicyKind.Kind}: namespacedScope}
	for _, u := range manifests {
		if u.GetKind() != "CustomResourceDefinition" {
			continue
		}
		of := func(fields ...string) string {
			value, _, _ := unstructured.NestedString(u.Object, append([]string{"spec"}, fields...)...)
			return value
		}
		scopes[schema.GroupKind{Group: of("group"), Kind: of("names", "kind")}] = of("scope")
	}
	return scopes
}

// The scopes in a CustomResourceDefinition.
const namespacedScope, clusterScope = "Namespaced", "Cluster"

func (r *renderCommand) tell(format string, args ...any) {
	fmt.Fprintln(r.errOut, oneLine(fmt.Sprintf(format, args...)))
}

// visitFiles calls visit for each object in files, folders and URLs.
func visitFiles(files resource.FilenameOptions, visit func(*unstructured.Unstructured) error) error {
	return resource.NewLocalBuilder().Unstructured().ContinueOnError().FilenameParam(false, &files).Flatten().Do().
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
		err := visitFiles(resource.FilenameOptions{Filenames: r.clusterFiles}, func(u *unstructured.Unstructured) error {
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
		return slices.Collect(maps.Values(known)), nil
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

func (r *renderCommand) readPolicies() (policies []*unstructured.Unstructured, err error) {
	if len(r.policyFiles) == 0 {
		return nil, nil
	}
	err = visitFiles(resource.FilenameOptions{Filenames: r.policyFiles}, func(u *unstructured.Unstructured) error {
		if u.GetKind() == state.PolicyKind.Kind && u.GetNamespace() == "" && r.namespace != "" {
			u.SetNamespace(r.namespace)
		}
		if p := state.NewPolicy(u.DeepCopy()); p.Fault != "" {
			return errors.New(p.Fault)
		}
		policies = append(policies, u)
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
	"policy.karmada.io":            {"ClusterOverridePolicy", "ClusterPropagationPolicy"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
}

// place gives a manifest without a namespace the one to use. Works are named after it, so a wrong
// one must not go unnoticed.
func (r *renderCommand) place(u *unstructured.Unstructured, scope string) error {
	gvk := u.GroupVersionKind()
	switch {
	case u.GetNamespace() != "" || scope == clusterScope || slices.Contains(clusterScoped[gvk.Group], gvk.Kind):
	case r.namespace != "":
		u.SetNamespace(r.namespace)
	case scheme.Scheme.Recognizes(gvk) || scope == namespacedScope:
		return misuse("cannot render %s %q: it has no namespace: give --namespace", gvk.GroupKind(), u.GetName())
	default:
		warning := fmt.Sprintf("%s %q has no namespace, and is rendered as cluster-scoped: if its kind is namespaced, give --namespace", gvk.GroupKind(), u.GetName())
		fmt.Fprintln(r.errOut, "warning: "+oneLine(warning))
	}
	return nil
}

// mustBeSpelt returns an error for a key that admission refuses.
func mustBeSpelt(u *unstructured.Unstructured) error {
	isOurs := func(key string) bool { return strings.HasPrefix(strings.ToLower(key), render.Domain) }
	for key := range u.GetAnnotations() {
		if isOurs(key) && !render.IsAnnotation(key) {
			return fmt.Errorf("%s is not an annotation of karmada-mirror: no API server takes it with the admission policies", key)
		}
	}
	for key := range u.GetLabels() {
		if isOurs(key) {
			return fmt.Errorf("%s is a label: it is meant as an annotation", key)
		}
	}
	return nil
}

// render prints the Works of a manifest.
func (r *renderCommand) render(files *gather.Files, u *unstructured.Unstructured) error {
	if err := mustBeSpelt(u); err != nil {
		return err
	}
	f := files.Facts(gather.IdentityOf(u))
	v := judge.Decide(f)
	switch {
	case f.Unknown != "":
		r.tell("not mirrored: %s: %s", f.ID, f.Unknown)
		return nil
	case f.ID.GroupKind() == state.DefinitionKind:
		r.tell("not mirrored: %s: it goes along with objects of its kind, where the configuration says definitions: Mirror", f.ID)
		return nil
	case !f.Source.Asks && f.Source.Refusal == nil:
		r.tell("not mirrored: %s: neither it nor its Namespace asks for it, or it is a record of the control plane", f.ID)
		return nil
	}
	var errs []error
	for _, refusal := range v.Refusals {
		if refusal.Reason == judge.UnknownCluster {
			if len(r.clusters) > 0 { // only these are known
				continue
			}
			r.tell("warning: %s: %s: %s", f.ID, refusal.Reason, refusal.Message)
			continue
		}
		err := fmt.Errorf("%s: %s", refusal.Reason, refusal.Message)
		if len(r.clusterFiles) == 0 && strings.Contains(refusal.Message, "the cluster has nothing for") {
			err = fmt.Errorf("%w: give --cluster-file, with the Cluster as in kubectl get cluster NAME -o yaml", err)
		}
		errs = append(errs, err)
	}
	for _, notice := range v.Notices {
		r.tell("warning: %s: %s: %s", f.ID, notice.Reason, notice.Message)
	}
	for _, cluster := range slices.Sorted(maps.Keys(v.Targets)) {
		if t := v.Targets[cluster]; t.Operation.Kind == "" && len(errs) == 0 {
			r.tell("not mirrored to %s: %s: %s", cluster, f.ID, t.Because)
		}
	}
	if len(v.Targets) == 0 && len(errs) == 0 {
		r.tell("not mirrored: %s: it asks for %s, which matches no cluster", f.ID, f.Source.Wishes)
	}
	for _, op := range v.Plan() {
		errs = append(errs, r.print(files, f.Source.UID, op, v))
	}
	return errors.Join(errs...)
}

// print prints the Work that an operation creates.
func (r *renderCommand) print(files *gather.Files, uid types.UID, op judge.Operation, v judge.Verdict) error {
	body, err := op.Body(v)
	if err != nil {
		return err
	}
	if len(body) > judge.EtcdLimit {
		return fmt.Errorf("%s: the Work for cluster %q takes %d bytes: %s", judge.TooLarge, op.Cluster, len(body), judge.TooLarge.Hint())
	}
	work := &unstructured.Unstructured{}
	if err := work.UnmarshalJSON(body); err != nil {
		return err
	}
	files.Add(state.NewWork(work.DeepCopy()))
	if uid == "" { // the API server has not seen it
		unstructured.RemoveNestedField(work.Object, "metadata", "annotations", render.SourceUIDAnnotation)
		unstructured.RemoveNestedField(work.Object, "metadata", "annotations", render.SourceCreatedAnnotation)
	}
	return r.printer.PrintObj(work, r.out)
}
