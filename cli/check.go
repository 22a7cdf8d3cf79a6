package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/daemon"
)

// checkTimeout is how long one request may take: a preflight has to end.
const checkTimeout = 10 * time.Second

// errCrosses is returned when something is not as it must be; what, is on the page.
var errCrosses = &exitError{code: 1}

// checker goes through what karmada-mirror needs, and says of each whether it is there.
type checker struct {
	flags     *genericclioptions.ConfigFlags
	configMap string
	lease     metav1.ObjectMeta
	pre       bool
	out       io.Writer

	rest          *rest.Config
	client        kubernetes.Interface
	dynamic       dynamic.Interface
	configuration *config.Configuration
	crosses       int
}

func newCheck() *cobra.Command {
	c := &checker{flags: connectionFlags()}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that everything is there that karmada-mirror needs, and say what to do where it is not",
		Long: "check looks at the Karmada API server with the rights of whoever runs it. The daemon's own are checked with its\n" +
			"kubeconfig, or by whoever may impersonate it:\n\n" +
			"  karmada-mirror check --as " + daemonUser + "\n\n" +
			"With --pre it looks at what is needed before karmada-mirror is installed. ✓ is as it should be, ! is worth a look,\n" +
			"✗ has to be mended. It exits with 1 if there is a ✗.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.out = cmd.OutOrStdout()
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
	cmd.Flags().BoolVar(&c.pre, "pre", false, "before karmada-mirror is installed")
	cmd.Flags().StringVar(&c.configMap, "config-map", daemon.DefaultConfigMap, "namespace/name of the daemon's ConfigMap")
	cmd.Flags().StringVar(&c.lease.Namespace, "leader-elect-resource-namespace", daemon.Namespace, "namespace of the daemon's Lease")
	cmd.Flags().StringVar(&c.lease.Name, "leader-elect-resource-name", daemon.DefaultLease, "name of the daemon's Lease")
	return cmd
}

// run goes through the groups. An API server that does not answer, or is none of
// Karmada's, leaves nothing to look at.
func (c *checker) run(ctx context.Context) error {
	if ok, err := c.checkServer(ctx); !ok || err != nil {
		return err
	}
	if ok, err := c.checkKarmada(ctx); !ok || err != nil {
		return err
	}
	if c.pre {
		c.group("Rights to install")
		return c.checkRights(ctx, installRights(), "install with an administrator's kubeconfig of the Karmada API server")
	}
	name, err := daemon.ParseConfigMap(c.configMap)
	if err != nil {
		return err
	}
	c.group("Rights")
	rights := daemonRights(metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, c.lease)
	if err := c.checkRights(ctx, rights, "kubectl apply --server-side -k manifests/karmada, and give the daemon the kubeconfig of its ServiceAccount"); err != nil {
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
		c.fail("give --kubeconfig or $KUBECONFIG: the kubeconfig of the Karmada API server", "there is no kubeconfig: %v", err)
		return false, nil
	}
	c.rest.Timeout = checkTimeout
	if c.client, err = kubernetes.NewForConfig(c.rest); err != nil {
		return false, fmt.Errorf("cannot make a client: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfig(c.rest); err != nil {
		return false, fmt.Errorf("cannot make a client: %w", err)
	}
	// Everybody who is known may ask who they are, and nobody else.
	me, err := c.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		c.fail(connectionHint(err), "%s does not answer: %v", c.rest.Host, err)
		return false, nil
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		c.fail(connectionHint(err), "%s does not say its version: %v", c.rest.Host, err)
		return false, nil
	}
	c.pass("%s answers, with Kubernetes %s", c.rest.Host, version.GitVersion)
	c.pass("it knows us as %s", me.Status.UserInfo.Username)
	return true, nil
}
