package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
	"github.com/karmada-target/karmada-mirror/watch"
)

// checkTimeout is how long one request may take: a preflight check must end.
const checkTimeout = 10 * time.Second

// errCrosses is returned when something must be fixed; the output says what.
var errCrosses = &exitError{code: 1}

// checker goes through what karmada-mirror needs, and reports for each whether it is there.
type checker struct {
	flags     *genericclioptions.ConfigFlags
	configMap string
	name      types.NamespacedName // parsed from configMap
	lease     metav1.ObjectMeta
	account   string
	pre       bool
	out       io.Writer

	rest    *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
	// own is a client without --as: the user's own rights may be greater.
	own kubernetes.Interface
	// me is the name of the user, and user whose rights are checked: no one's, if one may not ask.
	me            string
	user          user
	configuration *config.Configuration
	// view is what can be read of the daemon; nil if its ConfigMap cannot.
	view    *view
	crosses int
}

func newCheck(transport http.RoundTripper) *cobra.Command {
	c := &checker{flags: connectionFlags(transport)}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that karmada-mirror has everything it needs, and say how to fix what is missing",
		Long: "check looks at the Karmada API server, and asks what the daemon's ServiceAccount may do there, if you may ask that\n" +
			"(create subjectaccessreviews). With the daemon's own kubeconfig, or with --as, it asks for the rights of that user.\n\n" +
			"With --pre it checks what you need to install karmada-mirror. ✓ is fine, ! is a warning, ✗ must be fixed. It exits\n" +
			"with 1 if there is a ✗. It writes nothing, except an annotation on the Lease while no replica holds it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.out = plain{cmd.OutOrStdout()}
			if err := c.run(cmd.Context()); err != nil {
				return err
			}
			if c.crosses > 0 {
				return errCrosses
			}
			return nil
		},
	}
	c.flags.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&c.pre, "pre", false, "check what you need before you install karmada-mirror")
	cmd.Flags().StringVar(&c.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.Flags().StringVar(&c.account, "service-account", daemonAccount, "namespace/name of the daemon's ServiceAccount; empty for your own rights")
	cmd.Flags().StringVar(&c.lease.Namespace, "leader-elect-resource-namespace", daemon.Namespace, "namespace of the daemon's Lease")
	cmd.Flags().StringVar(&c.lease.Name, "leader-elect-resource-name", daemon.DefaultLease, "name of the daemon's Lease")
	return cmd
}

// run goes through the groups of checks. It stops early at an API server that does not
// answer or is not Karmada's.
func (c *checker) run(ctx context.Context) (err error) {
	if ok, err := c.checkServer(ctx); !ok || err != nil {
		return err
	}
	if ok, err := c.checkKarmada(ctx); !ok || err != nil {
		return err
	}
	if c.pre {
		c.group("Rights to install")
		c.user = user{client: c.client}
		return c.checkRights(ctx, installRights(), "install with an administrator's kubeconfig for the Karmada API server")
	}
	if c.name, err = parseConfigMap(c.configMap); err != nil {
		return err
	}
	if err := c.chooseUser(ctx); err != nil {
		return err
	}
	rights := daemonRights(c.name, c.lease)
	if err := c.checkRights(ctx, rights, "kubectl apply --server-side -k manifests/karmada (for a conflict, see Upgrade in manifests/README.md), and give the daemon the kubeconfig of its ServiceAccount"); err != nil {
		return err
	}
	if err := c.checkConfiguration(ctx); err != nil {
		return err
	}
	if err := c.checkDaemon(ctx); err != nil {
		return err
	}
	return c.checkNamespaces(ctx)
}

// chooseUser decides whose rights to check: those of a ServiceAccount that one has, or impersonates; else those of the daemon's.
func (c *checker) chooseUser(ctx context.Context) error {
	account, err := daemon.ParseConfigMap(c.account)
	if err != nil && c.account != "" {
		return misuse("--service-account %q is not namespace/name", c.account)
	}
	if c.account == "" || c.me == (user{account: account}).name() || c.account == daemonAccount && *c.flags.Impersonate != "" {
		c.group("Rights of " + c.me)
		c.user = user{client: c.client}
		return nil
	}
	daemon := user{c.client, account}
	switch _, err := daemon.mayDo(ctx, &authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces"}); {
	case apierrors.IsForbidden(err):
		c.group("Rights")
		c.warn("let an administrator run check, or use the daemon's kubeconfig, with --service-account= if it is no ServiceAccount's", "%s may not ask for the rights of %s: they are not checked", c.me, daemon.name())
	case err != nil:
		return fmt.Errorf("cannot check rights: %w", err)
	default:
		c.group("Rights of " + daemon.name())
		c.user = daemon
	}
	return nil
}

func (c *checker) group(name string) { fmt.Fprintln(c.out, name) }

func (c *checker) pass(format string, args ...any) { c.line("✓", "", format, args...) }

func (c *checker) warn(hint, format string, args ...any) { c.line("!", hint, format, args...) }

func (c *checker) fail(hint, format string, args ...any) {
	c.crosses++
	c.line("✗", hint, format, args...)
}

func (c *checker) line(mark, hint, format string, args ...any) {
	fmt.Fprintf(c.out, "  %s %s\n", mark, oneLine(fmt.Sprintf(format, args...)))
	if hint != "" {
		fmt.Fprintf(c.out, "      %s\n", hint)
	}
}

// checkServer reports whether the API server answers.
func (c *checker) checkServer(ctx context.Context) (ok bool, err error) {
	c.group("API server")
	if c.rest, err = c.flags.ToRESTConfig(); err != nil {
		c.fail("give --kubeconfig or set $KUBECONFIG: the kubeconfig of the Karmada API server", "cannot load the kubeconfig: %v", err)
		return false, nil
	}
	c.rest.Timeout = checkTimeout
	if c.client, err = kubernetes.NewForConfig(c.rest); err != nil {
		return false, fmt.Errorf("cannot make a client: %w", err)
	}
	if c.dynamic, err = watch.NewClient(c.rest); err != nil {
		return false, fmt.Errorf("cannot make a client: %w", err)
	}
	own := rest.CopyConfig(c.rest)
	own.Impersonate = rest.ImpersonationConfig{}
	if c.own, err = kubernetes.NewForConfig(own); err != nil {
		return false, fmt.Errorf("cannot make a client: %w", err)
	}
	// Every authenticated user may ask who they are, and no one else.
	me, err := c.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		c.fail(connectionHint(err), "%s does not answer: %v", c.rest.Host, err)
		return false, nil
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		c.fail(connectionHint(err), "%s does not report its version: %v", c.rest.Host, err)
		return false, nil
	}
	c.pass("%s answers, with Kubernetes %s", c.rest.Host, version.GitVersion)
	c.me = me.Status.UserInfo.Username
	c.pass("authenticated as %s", c.me)
	return true, nil
}
