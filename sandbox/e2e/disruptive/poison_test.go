package disruptive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"

	. "github.com/karmada-target/karmada-mirror/sandbox/e2e"
)

// TestSizeLimit mirrors objects as large as etcd accepts. Their Works are a little larger,
// and some are too large.
func TestSizeLimit(t *testing.T) {
	const group = "large.example"
	Configure(t, Resources(t, "blobs."+group))
	blobs := InstallBlobs(t, group)
	d := StartDaemon(t)
	ns := NewNamespace(t)
	f := NewFault(t, "Works of 1.0 to 1.6 MB", ns, blobs)
	audit := AuditFromNow(t)
	const limit = 1536 << 10 // of etcd's requests
	stored := 0
	var mirrored, tooLarge []string
	fits, exceeds := 0, limit // sizes of objects whose Works are accepted, and are not
	try := func(size int) {
		name := fmt.Sprintf("b%d", size)
		u := Blob(group, ns, name, Push, strings.Repeat("x", size))
		_, err := Env.Admin.Resource(blobs).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{})
		if err != nil {
			exceeds = min(exceeds, size) // etcd does not accept the source itself
			return
		}
		stored++
		Eventually(t, "a Work or a refusal", func(ctx context.Context) error {
			_, err := GetWork(ctx, workOfBlob(group, ns, name))
			switch {
			case err == nil:
				fits, mirrored = max(fits, size), append(mirrored, name)
			case d.Logged("refused") == len(tooLarge):
				return err
			default:
				tooLarge, exceeds = append(tooLarge, name), min(exceeds, size)
			}
			return nil
		})
	}
	for _, size := range []int{1_000_000, 1_400_000, limit - 2400, limit - 600, 1_600_000} {
		try(size)
	}
	for bisected && exceeds-fits > 64 { // until a Work just fits
		try((fits + exceeds) / 2)
	}
	for _, room := range []int{400, 500, 600} { // enough for a status, which leaves none for a deletion
		if bisected {
			try(fits - room)
		}
	}
	if stored < 4 || len(tooLarge) == 0 {
		t.Errorf("%d objects were stored, and %d Works were too large: the sizes do not straddle the limit", stored, len(tooLarge))
	}
	Eventually(t, "the refusals", d.WantMetric(`karmada_mirror_refused_sources{reason="TooLarge"}`, float64(len(tooLarge))))
	// Whatever makes the daemon sync them again, it must not send the same bytes again.
	for i := range 5 {
		SetConfiguration(t, Resources(t, "blobs."+group)+fmt.Sprintf("# %d\n", i))
	}
	Eventually(t, "the configurations", func(context.Context) error {
		if d.Logged("configuration in force") < 6 {
			return errors.New("not yet")
		}
		return nil
	})
	Eventually(t, "the queue to be empty", d.WantMetric(QueueEmpty, 0))
	// On a busy machine Karmada's webhook may time out on a megabyte: the daemon retries
	// such a Work. It does not retry one that was refused for its size.
	if refused := refusedForSize(t, audit); refused != len(tooLarge) {
		t.Errorf("%d Works are too large, but %d creations were refused for their size", len(tooLarge), refused)
	}
	f.Note = fmt.Sprintf("%d objects stored, %d of their Works too large: one attempt each (every 5 minutes)", stored, len(tooLarge))
	for _, name := range tooLarge { // an object that cannot be mirrored is not lost
		Remove(t, blobs, ns, name)
	}
	f.Heal()
	f.Converge(Patience)
	if bisected {
		WantEvent(t, ns, fmt.Sprintf("b%d", fits), "TooLarge", "nearly all")
	}
	tight := 0 // Works without room for a status, so that Karmada does not apply them
	if bisected {
		tight = 3
	}
	member := Env.Member(Push).Resource(blobs).Namespace(ns)
	Eventually(t, "objects in the member", func(ctx context.Context) error {
		applied, err := member.List(ctx, metav1.ListOptions{})
		if err == nil && len(applied.Items) < stored-len(tooLarge)-tight {
			err = fmt.Errorf("there are %d", len(applied.Items))
		}
		return err
	})
	f.End()
	RemoveAll(t, blobs, ns, "")
	Eventually(t, "the Works to be deleted", func(ctx context.Context) error { return Disagreement(ctx, ns, blobs) })
	if list, err := member.List(t.Context(), metav1.ListOptions{Limit: 1}); err != nil || len(list.Items) > 0 {
		t.Errorf("the member still has objects without Works: %v", err)
	}
	if bisected && !slices.ContainsFunc(mirrored, func(name string) bool { return wasPatched(t, audit, workOfBlob(group, ns, name)) }) {
		t.Error("no Work was shrunk before its deletion: none came near the limit")
	}
}

// wasPatched reports whether the daemon has patched a Work.
func wasPatched(t *testing.T, audit AuditLog, name types.NamespacedName) bool {
	t.Helper()
	return slices.ContainsFunc(audit.Requests(t), func(r Request) bool {
		return r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.ObjectRef.Namespace == name.Namespace && r.ObjectRef.Name == name.Name
	})
}

func workOfBlob(group, namespace, name string) types.NamespacedName {
	id := render.Identity{Group: group, Kind: "Blob", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(Push), Name: id.WorkName()}
}

// refusedForSize counts the Works that the API server or etcd refused for their size.
func refusedForSize(t *testing.T, audit AuditLog) int {
	t.Helper()
	n := 0
	for _, r := range audit.Requests(t) {
		isSize := strings.Contains(r.ResponseStatus.Message, "too large") || strings.Contains(r.ResponseStatus.Message, "larger than")
		if r.Verb == "create" && r.ObjectRef.Resource == "works" && isSize {
			n++
		}
	}
	return n
}
