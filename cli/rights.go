package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/karmada-target/karmada-mirror/daemon"
)

// right is what a user needs to be allowed to do on the Karmada API server. The resource may have a
// subresource after a slash.
type right struct {
	verbs []string
	schema.GroupResource
	// An empty namespace or name means all.
	namespace, name string
}

func (r right) String() string {
	s := r.GroupResource.String()
	if r.name != "" {
		s += " " + r.name
	}
	if r.namespace != "" {
		s += " in namespace " + r.namespace
	}
	return s
}

// daemonRights returns the rights that the manifests grant, whatever the configuration:
// manifests/karmada, clusterrole.yaml and role.yaml.
func daemonRights(configMap types.NamespacedName, lease metav1.ObjectMeta) []right {
	gr := func(group, resource string) schema.GroupResource {
		return schema.GroupResource{Group: group, Resource: resource}
	}
	reading := []string{"get", "list", "watch"}
	status := daemon.StatusName(configMap)
	return []right{
		{verbs: []string{"get", "list", "watch", "create", "patch", "delete", "mirror"}, GroupResource: gr("work.karmada.io", "works")},
		{verbs: []string{"get"}, GroupResource: gr("work.karmada.io", "resourcebindings")},
		{verbs: []string{"get"}, GroupResource: gr("work.karmada.io", "clusterresourcebindings")},
		{verbs: reading, GroupResource: gr("cluster.karmada.io", "clusters")},
		{verbs: reading, GroupResource: gr("policy.karmada.io", "overridepolicies")},
		{verbs: reading, GroupResource: gr("policy.karmada.io", "clusteroverridepolicies")},
		{verbs: reading, GroupResource: gr("", "namespaces")},
		{verbs: reading, GroupResource: gr("apiextensions.k8s.io", "customresourcedefinitions")},
		{verbs: reading, GroupResource: gr("apiregistration.k8s.io", "apiservices")},
		{verbs: []string{"list", "watch", "create", "patch"}, GroupResource: gr("", "events")},
		{verbs: reading, GroupResource: gr("", "configmaps"), namespace: configMap.Namespace, name: configMap.Name},
		{verbs: []string{"get", "update"}, GroupResource: gr("", "configmaps"), namespace: status.Namespace, name: status.Name},
		{verbs: []string{"get", "list", "watch", "update", "lead"}, GroupResource: gr("coordination.k8s.io", "leases"), namespace: lease.Namespace, name: lease.Name},
		{verbs: []string{"create"}, GroupResource: gr("coordination.k8s.io", "leases"), namespace: lease.Namespace},
	}
}

// installRights returns the rights needed to apply manifests/karmada. To grant rights, a user
// must have them, or the verb escalate.
func installRights() []right {
	gr := func(group, resource string) schema.GroupResource {
		return schema.GroupResource{Group: group, Resource: resource}
	}
	applying := []string{"get", "create", "patch"}
	const rbac, admission, flowcontrol = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "flowcontrol.apiserver.k8s.io"
	return []right{
		{verbs: applying, GroupResource: gr("", "namespaces")},
		{verbs: applying, GroupResource: gr("", "serviceaccounts"), namespace: daemon.Namespace},
		{verbs: applying, GroupResource: gr("", "secrets"), namespace: daemon.Namespace},
		{verbs: applying, GroupResource: gr("", "configmaps"), namespace: daemon.Namespace},
		{verbs: applying, GroupResource: gr(rbac, "roles"), namespace: daemon.Namespace},
		{verbs: applying, GroupResource: gr(rbac, "rolebindings"), namespace: daemon.Namespace},
		{verbs: append([]string{"escalate", "bind"}, applying...), GroupResource: gr(rbac, "clusterroles")},
		{verbs: applying, GroupResource: gr(rbac, "clusterrolebindings")},
		{verbs: applying, GroupResource: gr(admission, "validatingadmissionpolicies")},
		{verbs: applying, GroupResource: gr(admission, "validatingadmissionpolicybindings")},
		{verbs: applying, GroupResource: gr(flowcontrol, "flowschemas")},
		{verbs: applying, GroupResource: gr(flowcontrol, "prioritylevelconfigurations")},
	}
}

// missing asks the API server which of a right's verbs it would deny to a user.
func (r right) missing(ctx context.Context, of user) ([]string, error) {
	var missing []string
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	for _, verb := range r.verbs {
		allowed, err := of.mayDo(ctx, &authorizationv1.ResourceAttributes{
			Verb: verb, Group: r.Group, Resource: resource, Subresource: subresource, Namespace: r.namespace, Name: r.name,
		})
		if err != nil {
			return nil, fmt.Errorf("cannot check rights: %w", err)
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// user is whose rights are checked: those of a ServiceAccount, or of the one who asks if that has no name.
type user struct {
	client  kubernetes.Interface
	account types.NamespacedName
}

const accountPrefix = "system:serviceaccount:"

func (u user) name() string { return accountPrefix + u.account.Namespace + ":" + u.account.Name }

func (u user) mayDo(ctx context.Context, what *authorizationv1.ResourceAttributes) (bool, error) {
	if u.account.Name == "" {
		review, err := u.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answerOf(review.Status)
	}
	review, err := u.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: what, User: u.name(),
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + u.account.Namespace, "system:authenticated"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answerOf(review.Status)
}

// answerOf returns an error if no authorizer says no, and one has failed.
func answerOf(status authorizationv1.SubjectAccessReviewStatus) (bool, error) {
	if !status.Allowed && !status.Denied && status.EvaluationError != "" {
		return false, errors.New(status.EvaluationError)
	}
	return status.Allowed, nil
}

// checkRights reports for each right whether the user has it.
func (c *checker) checkRights(ctx context.Context, rights []right, hint string) error {
	for _, r := range rights {
		if c.user == (user{}) { // no one's can be asked for
			return nil
		}
		missing, err := r.missing(ctx, c.user)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			c.fail(hint, "may not %s %s", strings.Join(missing, ", "), r)
			hint = "" // said once
			continue
		}
		c.pass("may %s %s", strings.Join(r.verbs, ", "), r)
	}
	return nil
}
