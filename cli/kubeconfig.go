package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karmada-target/karmada-mirror/daemon"
)

// The keys of the Secret on the host cluster, which manifests/host mounts as files.
const (
	kubeconfigFile = "kubeconfig"
	tokenFile      = corev1.ServiceAccountTokenKey
	caFile         = corev1.ServiceAccountRootCAKey
)

// defaultTokenSecret holds the daemon's token on the Karmada API server: manifests/karmada,
// token.yaml.
const defaultTokenSecret = "karmada-mirror"

// tokenTimeout is how long Karmada may take to put a token into that Secret.
const tokenTimeout = 30 * time.Second

// kubeconfigCommand creates the daemon's kubeconfig.
type kubeconfigCommand struct {
	flags                   *genericclioptions.ConfigFlags
	server                  string
	tokenSecret, tokenFile  string
	output, directory, name string
	in                      io.Reader
	out, errOut             io.Writer
}

func newKubeconfig(transport http.RoundTripper) *cobra.Command {
	k := &kubeconfigCommand{flags: connectionFlags(transport)}
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Create the daemon's kubeconfig from its ServiceAccount",
		Long: "kubeconfig reads the token of the daemon's ServiceAccount, which manifests/karmada creates on the Karmada API server,\n" +
			"and prints a kubeconfig with it. With -o secret it prints the manifests of the Secret that manifests/host expects on the\n" +
			"host cluster, and of its Namespace. With --directory it writes the files of that Secret: kubeconfig, token and ca.crt.\n" +
			"In both, the token is a separate file, which the daemon rereads when it changes.\n\n" +
			"The output is a credential.",
		Example: "  karmada-mirror kubeconfig --kubeconfig karmada.config -o secret | kubectl --kubeconfig host.config apply --server-side -f -\n" +
			"  karmada-mirror kubeconfig --kubeconfig karmada.config --directory .cache/mirror",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k.in, k.out, k.errOut = cmd.InOrStdin(), plain{cmd.OutOrStdout()}, plain{cmd.ErrOrStderr()}
			switch {
			case k.output != outputKubeconfig && k.output != outputSecret:
				return misuse("cannot print %q: want kubeconfig or secret", k.output)
			case k.directory != "" && cmd.Flags().Changed("output"):
				return misuse("give either --output or --directory")
			}
			return withHint(k.run(cmd.Context()))
		},
	}
	k.flags.AddFlags(cmd.Flags())
	// kubectl's --server is the address that this command itself connects to.
	cmd.Flags().StringVar(&k.server, "daemon-server", "", "the address at which the daemon reaches the Karmada API server; it must be in the server's certificate (default: the kubeconfig's)")
	cmd.Flags().StringVar(&k.tokenSecret, "token-secret", defaultTokenSecret, "the Secret on the Karmada API server, in "+daemon.Namespace+", with the token")
	cmd.Flags().StringVar(&k.tokenFile, "token-file", "", "a file with the token, instead of that Secret; - for standard input")
	cmd.Flags().StringVarP(&k.output, "output", "o", outputKubeconfig, "kubeconfig or secret")
	cmd.Flags().StringVar(&k.directory, "directory", "", "write the files to this folder instead; it overwrites none")
	cmd.Flags().StringVar(&k.name, "name", "karmada-mirror-kubeconfig", "the name of the printed Secret")
	completeWords(cmd, "output", outputKubeconfig, outputSecret)
	return cmd
}

const (
	outputKubeconfig = "kubeconfig"
	outputSecret     = "secret"
)

func (k *kubeconfigCommand) run(ctx context.Context) error {
	connection, err := connect(k.flags)
	if err != nil {
		return err
	}
	token, err := k.token(ctx, connection)
	if err != nil {
		return err
	}
	ca, err := authorityOf(connection)
	if err != nil {
		return err
	}
	server := cmp.Or(k.server, connection.Host)
	serverName := "" // it belongs to the kubeconfig's address
	if k.server == "" {
		serverName = connection.ServerName
	}
	if k.output == outputKubeconfig && k.directory == "" {
		text, err := kubeconfigOf(server, &clientcmdapi.Cluster{CertificateAuthorityData: ca, TLSServerName: serverName}, &clientcmdapi.AuthInfo{Token: string(token)})
		if err == nil {
			_, err = k.out.Write(text)
		}
		return err
	}
	text, err := kubeconfigOf(server, &clientcmdapi.Cluster{CertificateAuthority: caFile, TLSServerName: serverName}, &clientcmdapi.AuthInfo{TokenFile: tokenFile})
	if err != nil {
		return err
	}
	files := map[string][]byte{kubeconfigFile: text, tokenFile: token, caFile: ca}
	if k.directory != "" {
		return k.write(files)
	}
	if isLoopback(server) {
		fmt.Fprintf(k.errOut, "warning: %s is an address of this machine: no Pod reaches it. Give the address that Pods use with --daemon-server.\n", server)
	}
	return k.printSecret(files)
}

// isLoopback reports whether a server is at an address that means another machine, or none, in a Pod.
func isLoopback(server string) bool {
	at, err := url.Parse(server)
	return err == nil && (at.Hostname() == "localhost" || net.ParseIP(at.Hostname()).IsLoopback())
}

// authorityOf returns the CA that verifies the API server's certificate; empty if the system's
// CAs do.
func authorityOf(connection *rest.Config) ([]byte, error) {
	if connection.Insecure {
		return nil, errors.New("cannot create a kubeconfig from one with insecure-skip-tls-verify: the daemon needs the API server's CA")
	}
	if err := rest.LoadTLSFiles(connection); err != nil {
		return nil, fmt.Errorf("cannot read the files that the kubeconfig names: %w", err)
	}
	return connection.CAData, nil
}

// token reads the token, and checks that the API server accepts it.
func (k *kubeconfigCommand) token(ctx context.Context, connection *rest.Config) (token []byte, err error) {
	if k.tokenFile == "" {
		token, err = readToken(ctx, connection, k.tokenSecret)
	} else {
		token, err = readFile(k.tokenFile, k.in)
		token = bytes.TrimSpace(token)
	}
	if err != nil {
		return nil, err
	}
	if len(token) == 0 {
		return nil, fmt.Errorf("there is no token in %s", k.tokenFile)
	}
	return token, proveToken(ctx, connection, token)
}

// proveToken asks the API server for the user of a token.
func proveToken(ctx context.Context, connection *rest.Config, token []byte) error {
	bearer := rest.AnonymousClientConfig(connection)
	bearer.BearerToken = string(token)
	client, err := kubernetes.NewForConfig(bearer)
	if err != nil {
		return fmt.Errorf("cannot make a client: %w", err)
	}
	if _, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("the API server rejects the token: %w", err)
	}
	return nil
}

// readToken waits for the token: Karmada creates it once the Secret exists.
func readToken(ctx context.Context, connection *rest.Config, secretName string) (token []byte, err error) {
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	name := daemon.Namespace + "/" + secretName
	err = wait.PollUntilContextTimeout(ctx, waitPeriod, tokenTimeout, true, func(ctx context.Context) (bool, error) {
		secret, err := client.CoreV1().Secrets(daemon.Namespace).Get(ctx, secretName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if secret.Type != corev1.SecretTypeServiceAccountToken {
			return false, fmt.Errorf("secret %q is not a ServiceAccount token: its type is %q", name, secret.Type)
		}
		token = secret.Data[corev1.ServiceAccountTokenKey]
		return len(token) > 0, nil
	})
	err = blameServer(ctx, client, err)
	switch {
	case apierrors.IsNotFound(err) && !errors.Is(err, errNotKarmada):
		return nil, fmt.Errorf("secret %q with the daemon's token is missing: create it with kubectl apply --server-side -k manifests/karmada", name)
	case wait.Interrupted(err) && ctx.Err() == nil:
		return nil, fmt.Errorf("secret %q has no token after %s: is Karmada's kube-controller-manager running?", name, tokenTimeout)
	case err != nil:
		return nil, fmt.Errorf("cannot read Secret %q: %w", name, err)
	}
	return token, nil
}

func kubeconfigOf(server string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) ([]byte, error) {
	const name, account = "karmada", "karmada-mirror"
	cluster.Server = server
	return clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: account}},
		CurrentContext: name,
	})
}

func (k *kubeconfigCommand) printSecret(files map[string][]byte) error {
	printer := &printers.YAMLPrinter{}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(daemon.Namespace)
	return errors.Join(printer.PrintObj(namespace, k.out), printer.PrintObj(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: daemon.Namespace, Name: k.name},
		Type:       corev1.SecretTypeOpaque, Data: files,
	}, k.out))
}

// write writes the files, readable by their owner only. It overwrites none.
func (k *kubeconfigCommand) write(files map[string][]byte) error {
	if err := os.MkdirAll(k.directory, 0o700); err != nil {
		return err
	}
	for name := range files {
		if _, err := os.Lstat(filepath.Join(k.directory, name)); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s already exists: nothing was written", filepath.Join(k.directory, name)), err)
		}
	}
	for name, content := range files {
		file, err := os.OpenFile(filepath.Join(k.directory, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	fmt.Fprintf(k.errOut, "Written to %s: %s, %s and %s.\n", k.directory, kubeconfigFile, tokenFile, caFile)
	return nil
}
