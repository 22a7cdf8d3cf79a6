package gather

import (
	"errors"
	"net/http"
	"testing"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/karmada-target/karmada-mirror/mirror/internal/sample"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

func TestProvesAbsence(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", gr, "page", "404 page not found", 0, true)
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Object":   {"the object is named", apierrors.NewNotFound(gr, "page"), true},
		"Another":  {"it names another object", apierrors.NewNotFound(gr, "other"), false},
		"Unserved": {"the path is not served; client-go fills in the name", unserved, false},
		"Failure":  {"a failure answers nothing", apierrors.NewInternalError(errors.New("boom")), false},
		"Plain":    {"neither is a broken connection", errors.New("EOF"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ProvesAbsence(c.err, "page"); got != c.want {
				t.Errorf("%s: got %v", c.reason, got)
			}
		})
	}
}

// TestReadBesidePanics: what panics beside the read of a source ends its sync, and not the daemon.
func TestReadBesidePanics(t *testing.T) {
	c := NewCaches(Options{Logger: zap.NewNop(), Clock: clock.RealClock{}}) // without a client
	source := judge.NewSource(sample.Asking("1", "m1"), render.Wishes{})
	if err := c.readBeside(t.Context(), judge.Facts{ID: source.ID, Source: source}, newProving(t.Context(), c))(); err == nil {
		t.Error("it does not fail")
	}
}
