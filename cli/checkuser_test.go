package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestWhoseRights: an administrator wants to know what the daemon may do, not what administrators may.
func TestWhoseRights(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, me, as, account string
		mayAsk                  bool
		asks, says              string
	}{
		"Administrator": {"may ask for the daemon's", "admin", "", daemonAccount, true, "system:serviceaccount:karmada-system:karmada-mirror", "Rights of system:serviceaccount:karmada-system:karmada-mirror\n"},
		"Another":       {"several daemons have one each", "admin", "", "team-a/mirror", true, "system:serviceaccount:team-a:mirror", "Rights of system:serviceaccount:team-a:mirror\n"},
		"Daemon":        {"its own kubeconfig asks for its own", "system:serviceaccount:karmada-system:karmada-mirror", "", daemonAccount, true, "self", "Rights of system:serviceaccount:karmada-system:karmada-mirror\n"},
		"Named":         {"a ServiceAccount may ask for another's", "system:serviceaccount:ci:deployer", "", "team-a/mirror", true, "system:serviceaccount:team-a:mirror", "Rights of system:serviceaccount:team-a:mirror\n"},
		"Own":           {"a daemon may have a certificate", "karmada-mirror", "", "", false, "self", "Rights of karmada-mirror\n"},
		"TooMany":       {"an account has a namespace and a name", "admin", "", "team-a/mirror/x", true, "", "is not namespace/name"},
		"Impersonated":  {"so does --as", "other", "other", daemonAccount, true, "self", "Rights of other\n"},
		"Tenant":        {"may not ask, and need not be told what tenants lack", "alice", "", daemonAccount, false, "", "! alice may not ask for the rights of system:serviceaccount:karmada-system:karmada-mirror"},
		"TenantsOwn":    {"nor has a tenant's ServiceAccount the daemon's rights", "system:serviceaccount:shop:ci", "", daemonAccount, false, "", "! system:serviceaccount:shop:ci may not ask for the rights of system:serviceaccount:karmada-system:karmada-mirror"},
		"WithoutAName":  {"an account has a namespace and a name", "admin", "", "karmada-mirror", true, "", `--service-account "karmada-mirror" is not namespace/name`},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			client, out := fake.NewClientset(), &bytes.Buffer{}
			client.PrependReactor("create", "selfsubjectaccessreviews", func(kubetesting.Action) (bool, runtime.Object, error) {
				asked = append(asked, "self")
				return true, &authorizationv1.SelfSubjectAccessReview{}, nil
			})
			client.PrependReactor("create", "subjectaccessreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
				review := a.(kubetesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
				if !tc.mayAsk {
					return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
				}
				if !slices.Contains(review.Spec.Groups, "system:authenticated") {
					t.Errorf("without the groups that it has: %q", review.Spec.Groups)
				}
				asked = append(asked, review.Spec.User)
				return true, review, nil
			})
			c := &checker{flags: connectionFlags(nil), client: client, me: tc.me, account: tc.account, out: out}
			*c.flags.Impersonate = tc.as
			err := c.chooseUser(t.Context())
			if err == nil {
				asked = nil
				err = c.checkRights(t.Context(), []right{{verbs: []string{"get"}, GroupResource: render.WorksResource.GroupResource()}}, "")
			}
			if told := told(out.String(), err); !strings.Contains(told, tc.says) || strings.Join(asked, " ") != tc.asks || strings.Contains(told, "✗") != (tc.asks != "") {
				t.Errorf("%s: asks about %q, and says %s", tc.reason, asked, told)
			}
		})
	}
}

// TestAuthorizerFails: that is no right that is missing.
func TestAuthorizerFails(t *testing.T) {
	if _, err := answerOf(authorizationv1.SubjectAccessReviewStatus{EvaluationError: "webhook: connection refused"}); err == nil {
		t.Error("it is taken for an answer")
	}
	for _, status := range []authorizationv1.SubjectAccessReviewStatus{{Allowed: true, EvaluationError: "x"}, {Denied: true, EvaluationError: "x"}, {}} {
		if allowed, err := answerOf(status); err != nil || allowed != status.Allowed {
			t.Errorf("%+v: %v, %v", status, allowed, err)
		}
	}
}
