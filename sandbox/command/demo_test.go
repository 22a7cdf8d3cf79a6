package command

import (
	"bytes"
	"testing"
)

// TestDemo runs what `make demo` runs.
func TestDemo(t *testing.T) {
	var out bytes.Buffer
	root := New()
	root.SetArgs([]string{"demo", "--exit", "--pause", "0s"})
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"Deployment.apps/hello/nginx: healthy\n", "karmada-es-member3 ", "nginx   2/2 ", "Deployment.apps/hello/nginx   member2 ",
		"karmada.target/cluster", "kubectl -n hello annotate --overwrite configmap page ",
	} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("it does not show %q:\n%s", want, out.String())
		}
	}
}
