package bench

import (
	"strings"
	"testing"
)

// TestReport: ratios are those within a repetition.
func TestReport(t *testing.T) {
	r := &report{Date: "2026-11-26", Revision: "0123456789ab-dirty", Cores: 2}
	r.add("restart", "karmada-mirror", "writes", 0)
	r.addOver("10 objects", "karmada-mirror", "Works/s", []float64{80, 100, 300}, "bare loop", []float64{100, 200, 300})
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"revision 0123456789ab-dirty", "restart karmada-mirror writes 0 0 0 10", "10 objects karmada-mirror Works/s 100 80 300 0.8 0.5 1 bare loop"} {
		if printed := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(printed, want) {
			t.Errorf("the table has no %q:\n%s", want, printed)
		}
	}
}
