package build

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestChoose skips the older Karmada, which would have to be downloaded.
func TestChoose(t *testing.T) {
	module, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	newest, err := choose(t.Context(), module, "")
	if err != nil {
		t.Fatal(err)
	}
	if newest.dir != module || newest.binary != "hyperkarmada" {
		t.Errorf("by default it is compiled in %q to %q, not by the sandbox module", newest.dir, newest.binary)
	}
	if newest.karmada.Dir == "" || newest.kubernetes.Version == "" {
		t.Errorf("its sources or versions are unknown: %+v", newest)
	}
	minor := strings.TrimPrefix(newest.karmada.Version[:strings.LastIndex(newest.karmada.Version, ".")], "v")
	named, err := choose(t.Context(), module, minor)
	if err != nil {
		t.Fatal(err)
	}
	if named != newest {
		t.Errorf("%q is %+v, not the newest", minor, named)
	}
	if _, err := choose(t.Context(), module, "0.1"); err == nil || !strings.Contains(err.Error(), minor) {
		t.Errorf("want an error for an unknown Karmada that names the known ones, got %v", err)
	}
}
