package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// execute runs the command line and returns what it printed.
func execute(arguments ...string) (string, error) {
	return executeUntil(context.Background(), arguments...)
}

func executeUntil(ctx context.Context, arguments ...string) (string, error) {
	var out bytes.Buffer
	root := New()
	root.SetArgs(arguments)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(ctx)
	return out.String(), err
}

func TestRunRejectsFlags(t *testing.T) {
	cases := map[string]struct {
		reason    string
		arguments []string
		want      string
	}{
		"ConfigMap":       {"a name without a namespace", []string{"--config-map", "karmada-mirror"}, "namespace/name"},
		"ConcurrentSyncs": {"without workers no work is done", []string{"--concurrent-syncs", "0"}, "at least 1"},
		"LeaseTimes":      {"a Lease that expires before it is renewed", []string{"--leader-elect-renew-deadline", "20s"}, "lease duration 15s > renew deadline 20s"},
		"Burst":           {"a limit of queries needs a burst", []string{"--kube-api-qps", "10"}, "--kube-api-burst"},
		"Queries":         {"client-go takes 0 for its own limit", []string{"--kube-api-qps", "0"}, "--kube-api-qps 0"},
		"LogFormat":       {"an unknown format", []string{"--log-format", "xml"}, "json or console"},
		"LogLevel":        {"an unknown level", []string{"--log-level", "loud"}, "--log-level"},
		"Secure":          {"a token would be sent in the clear", []string{"--metrics-secure"}, "--tls-cert-file"},
		"SecureHalf":      {"a certificate without its key", []string{"--metrics-secure", "--tls-cert-file", "a"}, "--tls-private-key-file"},
		"NotSecure":       {"with a certificate the user expects TLS", []string{"--tls-cert-file", "a", "--tls-private-key-file", "b"}, "without --metrics-secure"},
		"Reviews":         {"and so they do with a kubeconfig for reviews", []string{"--authentication-kubeconfig", "a"}, "without --metrics-secure"},
		"Certificate":     {"a file that does not exist", []string{"--metrics-secure", "--tls-cert-file", "/no/such/cert", "--tls-private-key-file", "/no/such/key"}, "/no/such/cert"},
		"Profiling":       {"profiles on all interfaces", []string{"--enable-pprof", "--profiling-bind-address", ":6060"}, "loopback"},
		"ProfilingRemote": {"on another address", []string{"--enable-pprof", "--profiling-bind-address", "10.0.0.1:6060"}, "loopback"},
		"ProfilingName":   {"on a name, which may be any address", []string{"--enable-pprof", "--profiling-bind-address", "localhost:6060"}, "loopback"},
		"Kubeconfig":      {"a file that does not exist", []string{"--kubeconfig", "/no/such/file"}, "/no/such/file"},
		"MetricsAddress":  {"a port without a colon", []string{"--metrics-bind-address", "8080"}, "--metrics-bind-address"},
		"ProbeAddress":    {"a port that does not exist", []string{"--health-probe-bind-address", ":80800"}, "--health-probe-bind-address"},
		"SameAddress":     {"two servers cannot share one address", []string{"--metrics-bind-address", ":9090", "--health-probe-bind-address", ":9090"}, "both"},
		"ConfigFile":      {"a file that does not exist", []string{"--config", "/no/such/config"}, "/no/such/config"},
		"ConfigContent":   {"a file that is not a configuration", []string{"--config", "cli_test.go"}, "cli_test.go"},
		"LeaseName":       {"a Lease needs a name", []string{"--leader-elect-resource-name", ""}, "--leader-elect-resource-name"},
		"Arguments":       {"run takes none", []string{"now"}, "now"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := execute(append([]string{"run"}, c.arguments...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v does not say %q", c.reason, err, c.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\nresources: [{resource: services}]\n")
	out, err := execute("validate", "-f", good)
	if err != nil || out != "valid: 1 resources\n" {
		t.Errorf("a good file: %q, %v", out, err)
	}
	bad := write("bad.yaml", "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\nresources: [{resource: nodes}]\n")
	if _, err := execute("validate", "-f", bad); err == nil || !strings.Contains(err.Error(), "resources[0]") {
		t.Errorf("a bad file: %v", err)
	}
	const part = "apiVersion: mirror.karmada.target/v1alpha1\nkind: MirrorConfiguration\n"
	manifest := write("manifest.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n    apiVersion: mirror.karmada.target/v1alpha1\n    kind: MirrorConfiguration\n    resources: [{resource: pods}]\n")
	own := write("own.yaml", part+"resources: [{resource: secrets}]\n")
	if out, err := execute("validate", "-f", manifest, "-f", own); err != nil || out != "valid: 2 resources\n" {
		t.Errorf("two parts: %q, %v", out, err)
	}
	wrong := write("wrong.yaml", part+"resource: secrets\n")
	if _, err := execute("validate", "-f", manifest, "-f", wrong); err == nil || !strings.HasPrefix(err.Error(), "wrong.yaml: ") {
		t.Errorf("a mistake in a part: %v", err)
	}
	if _, err := execute("validate", "-f", own, "-f", own); err == nil || !strings.Contains(err.Error(), "two parts") {
		t.Errorf("one part twice: %v", err)
	}
	if _, err := execute("validate", "-f", filepath.Join(dir, "none")); err == nil {
		t.Error("a file that does not exist is valid")
	}
}

func TestVersion(t *testing.T) {
	out, err := execute("version")
	if err != nil || !strings.HasPrefix(out, "karmada-mirror ") {
		t.Errorf("got %q, %v", out, err)
	}
}
