package apart

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/sandbox/karmada"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestForegroundIsSurvived takes the right, the configuration and the daemon away from sources that
// are to be deleted in the foreground: they can be deleted all the same.
func TestForegroundIsSurvived(t *testing.T) {
	StartOwn(t, karmada.Options{Dir: t.TempDir(), Members: Named(Push)})
	Must(t, Env.Install(t.Context()))
	role := Env.ClusterRole("foreground-deletion")
	Kubectl(t, "delete", "-f", role)
	daemon := StartDaemon(t)
	ns := NewNamespace(t)
	held := func(name string) {
		page := ConfigMap(ns, name, Push, "one")
		SetAnnotation(render.DeletionAnnotation, "foreground")(page)
		Create(t, ConfigMaps, page)
	}
	held("denied")
	WantEvent(t, ns, "denied", "NotAuthorized", "so the object is deleted in the background", "verbs: [patch]")
	WantInMembers(t, ns, "denied", "one", Push)
	Kubectl(t, "apply", "-f", role)
	Eventually(t, "the finalizer", finalizer(ns, "denied", true))

	for _, name := range []string{"left", "forgotten", "uninstalled"} {
		held(name)
		Eventually(t, "the finalizer", finalizer(ns, name, true))
	}
	// The daemon sees the resource leave, and removes the finalizers.
	configuration := SetConfiguration(t, Resources(t, "serviceaccounts"))
	for _, name := range []string{"left", "forgotten", "uninstalled", "denied"} {
		Eventually(t, "the finalizer to be removed", finalizer(ns, name, false))
	}
	SetConfiguration(t, configuration)
	for _, name := range []string{"left", "forgotten", "uninstalled", "denied"} {
		Eventually(t, "the finalizer to be back", finalizer(ns, name, true))
	}
	// It does not see it if it is not there: purge does the same.
	daemon.MustStop(t)
	SetConfiguration(t, Resources(t, "serviceaccounts"))
	Must(t, Env.Admin.Resource(ConfigMaps).Namespace(ns).Delete(t.Context(), "forgotten", metav1.DeleteOptions{}))
	WantLine(t, MustKarmadaMirror(t, "purge", "--resource", "configmaps", "--finalizers", "--dry-run"), `^ConfigMap/`+ns+`/forgotten: its finalizer would be removed$`)
	Eventually(t, "a dry run to change nothing", finalizer(ns, "forgotten", true))
	WantLine(t, MustKarmadaMirror(t, "purge", "--resource", "configmaps", "--finalizers", "--yes"), `^The finalizers of 4 objects removed\.$`)
	Eventually(t, "the object to be gone", gone(ns, "forgotten"))

	SetConfiguration(t, configuration)
	daemon = StartDaemon(t)
	Eventually(t, "the finalizer again", finalizer(ns, "uninstalled", true))
	daemon.MustStop(t)
	Kubectl(t, "-n", System, "delete", "configmap", Account) // uninstalled
	if output, err := KarmadaMirror(t, "purge", "--resource", "configmaps", "--finalizers", "--yes"); err == nil || !strings.Contains(output, "add --uninstalled") {
		t.Errorf("without a ConfigMap: %v, %s", err, output)
	}
	WantLine(t, MustKarmadaMirror(t, "purge", "--resource", "configmaps", "--finalizers", "--uninstalled", "--yes"), `^ConfigMap/`+ns+`/uninstalled: finalizer removed$`)
	Kubectl(t, "-n", ns, "delete", "configmap", "uninstalled", "--timeout=20s")
}

// finalizer returns an error unless a ConfigMap has our finalizer, or does not.
func finalizer(ns, name string, wanted bool) func(context.Context) error {
	return func(ctx context.Context) error {
		u, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
		if err == nil && slices.Contains(u.GetFinalizers(), "karmada.target/works") != wanted {
			err = fmt.Errorf("its finalizers are %v", u.GetFinalizers())
		}
		return err
	}
}

func gone(ns, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Env.Admin.Resource(ConfigMaps).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it still exists"))
	}
}
