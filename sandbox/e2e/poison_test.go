package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karmada-target/karmada-mirror/render"
)

// TestPoison mirrors objects that are hard to digest beside ordinary ones.
func TestPoison(t *testing.T) {
	const group = "poison.example"
	configure(t, resources("configmaps", "blobs."+group))
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	quiesce(t)
	ns := newNamespace(t)
	f := newFault(t, "Poison objects: nested 2,000 deep, numbers at the end of their range, 10,000 keys, hostile annotations", ns, blobs)
	deep := any("bottom")
	for range 2000 {
		deep = map[string]any{"d": deep}
	}
	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprintf("key \u2028 %d", i)] = []any{int64(i), nil, true, ""}
	}
	poison := map[string]any{
		"deep": deep, "many": many,
		"numbers":   []any{"1e400", math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), int64(math.MaxInt64), int64(math.MinInt64)},
		"lookalike": map[string]any{"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": "none"},
	}
	for name, content := range poison {
		create(t, blobs, blob(group, ns, name, both, content))
	}
	hostile := configMap(ns, "hostile", strings.Repeat("member1,", 2000), "one")
	create(t, configMaps, hostile)
	createPages(t, ns, both, 5)
	wantEvent(t, ns, "hostile", "InvalidAnnotation", "more than 1024")
	remove(t, configMaps, ns, "hostile")
	f.heal()
	f.converge(patience)
	if err := d.probe("/livez"); err != nil {
		t.Error(err)
	}
}

// TestSizeLimit mirrors objects as large as etcd takes them. Their Works are a
// little larger, and some too large.
func TestSizeLimit(t *testing.T) {
	const group = "large.example"
	configure(t, resources("blobs."+group))
	blobs := installBlobs(t, group)
	d := startDaemon(t)
	ns := newNamespace(t)
	f := newFault(t, "Works of 1.0 to 1.6 MB", ns, blobs)
	audit := auditFromNow(t)
	const limit = 1536 << 10 // of etcd's requests
	stored := 0
	var tooLarge []string
	fits, exceeds := 0, limit // sizes of objects whose Works are taken, and are not
	try := func(size int) {
		name := fmt.Sprintf("b%d", size)
		u := blob(group, ns, name, push, strings.Repeat("x", size))
		_, err := env.admin.Resource(blobs).Namespace(ns).Create(t.Context(), u, metav1.CreateOptions{})
		if err != nil {
			exceeds = min(exceeds, size) // etcd does not take the source itself
			return
		}
		stored++
		eventually(t, "a Work or a refusal", func(ctx context.Context) error {
			_, err := getWork(ctx, workOfBlob(group, ns, name))
			switch {
			case err == nil:
				fits = max(fits, size)
			case d.logged("refused") == len(tooLarge):
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
	for exceeds-fits > 64 { // until a Work has only just been taken
		try((fits + exceeds) / 2)
	}
	for _, room := range []int{400, 500, 600} { // enough for a status, but for a deletion none is left
		try(fits - room)
	}
	if stored < 4 || len(tooLarge) == 0 {
		t.Errorf("%d objects were stored, and %d Works too large: the sizes do not meet the limit", stored, len(tooLarge))
	}
	eventually(t, "the refusals", d.wantMetric(`karmada_mirror_refused_sources{reason="TooLarge"}`, fmt.Sprint(len(tooLarge))))
	// Whatever makes it look at them again, the same bytes are not sent again.
	for i := range 5 {
		setConfiguration(t, resources("blobs."+group)+fmt.Sprintf("# %d\n", i))
	}
	eventually(t, "the configurations", func(context.Context) error {
		if d.logged("configuration in force") < 6 {
			return errors.New("not yet")
		}
		return nil
	})
	eventually(t, "the queue to be empty", d.wantMetric(`workqueue_depth{name="mirror"}`, "0"))
	// On a busy machine Karmada's webhook may be too late for a megabyte; such a Work is sent again.
	if attempts := refusedCreates(t, audit) - d.logged("sync failed, trying again"); attempts != len(tooLarge) {
		t.Errorf("%d Works are too large, and %d attempts were made", len(tooLarge), attempts)
	}
	f.note = fmt.Sprintf("%d objects stored, %d of their Works too large: one attempt each (every 5 minutes)", stored, len(tooLarge))
	for _, name := range tooLarge { // what cannot be mirrored is not lost
		remove(t, blobs, ns, name)
	}
	f.heal()
	f.converge(patience)
	wantEvent(t, ns, fmt.Sprintf("b%d", fits), "TooLarge", "nearly all")
	member := env.members[push].Resource(blobs).Namespace(ns)
	var applied *unstructured.UnstructuredList
	eventually(t, "objects in the member", func(ctx context.Context) (err error) {
		applied, err = member.List(ctx, metav1.ListOptions{})
		if err == nil && len(applied.Items) < stored-len(tooLarge)-3 {
			err = fmt.Errorf("there are %d", len(applied.Items))
		}
		return err
	})
	removeAll(t, blobs, ns, "")
	eventually(t, "the Works to go", func(ctx context.Context) error { return disagreement(ctx, ns, blobs) })
	if list, err := member.List(t.Context(), metav1.ListOptions{Limit: 1}); err != nil || len(list.Items) > 0 {
		t.Errorf("objects stay in the member without their Works: %v", err)
	}
	if !slices.ContainsFunc(applied.Items, func(u unstructured.Unstructured) bool {
		return wasPatched(t, audit, workOfBlob(group, ns, u.GetName()))
	}) {
		t.Error("all Works were deleted as they were: none has come near the limit")
	}
}

// wasPatched reports whether the daemon has patched a Work.
func wasPatched(t *testing.T, audit auditLog, name types.NamespacedName) bool {
	t.Helper()
	return slices.ContainsFunc(audit.requests(t), func(r request) bool {
		return r.Verb == "patch" && r.ObjectRef.Resource == "works" && r.ObjectRef.Namespace == name.Namespace && r.ObjectRef.Name == name.Name
	})
}

func workOfBlob(group, namespace, name string) types.NamespacedName {
	id := render.Identity{Group: group, Kind: "Blob", Namespace: namespace, Name: name}
	return types.NamespacedName{Namespace: render.ExecutionNamespace(push), Name: id.WorkName()}
}

func refusedCreates(t *testing.T, audit auditLog) int {
	t.Helper()
	n := 0
	for _, r := range audit.requests(t) {
		if r.Verb == "create" && r.ObjectRef.Resource == "works" && !r.succeeded() {
			n++
		}
	}
	return n
}
