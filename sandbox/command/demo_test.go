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
	for _, l := range legs {
		want := l.source.WorkName() + " → " + l.cluster
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("the demo does not show %q:\n%s", want, out.String())
		}
	}
	for _, want := range []string{
		"Deployment.apps/hello/nginx: healthy\n", "nginx   2/2 ", "Deployment.apps/hello/nginx   member2 ",
		"karmada.target/cluster", "kubectl -n hello annotate --overwrite configmap page ",
	} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("the commands do not show %q:\n%s", want, out.String())
		}
	}
}
