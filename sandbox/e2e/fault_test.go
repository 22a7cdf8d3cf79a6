package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karmada-target/karmada-mirror/mirror"
	"github.com/karmada-target/karmada-mirror/render"
)

// faultRow is the measuring of one row of docs/reliability.md. What it judges by is
// the API server: what is there in the end, and what the audit log says was
// deleted on the way.
type faultRow struct {
	t         *testing.T
	name      string
	namespace string
	resources []schema.GroupVersionResource
	audit     auditLog
	healed    time.Time
	due       map[string]bool // Works that may be deleted, as namespace/name
	// known are the Works that this test is about, where others run beside it; nil
	// is all.
	known map[string]bool
	// daemon is kept running while the row converges; nil if it must not end.
	daemon *supervised
	note   string
}

// newFault measures the sources of a namespace: ConfigMaps, and objects of the
// other resources that are given.
func newFault(t *testing.T, name, namespace string, others ...schema.GroupVersionResource) *faultRow {
	t.Helper()
	return &faultRow{
		t: t, name: name, namespace: namespace,
		resources: append(others, configMaps),
		audit:     auditFromNow(t),
		due:       map[string]bool{},
	}
}

// only notes that other tests run beside this one, which is about these sources.
func (f *faultRow) only(ids []render.Identity, clusters ...string) {
	if f.known == nil {
		f.known = map[string]bool{}
	}
	for _, id := range ids {
		for _, cluster := range clusters {
			f.known[render.ExecutionNamespace(cluster)+"/"+id.WorkName()] = true
		}
	}
}

// allow notes that the Works of a source may be deleted.
func (f *faultRow) allow(id render.Identity, clusters ...string) {
	for _, cluster := range clusters {
		f.due[render.ExecutionNamespace(cluster)+"/"+id.WorkName()] = true
	}
}

// heal notes that the fault is over: from here on time counts.
func (f *faultRow) heal() { f.healed = time.Now() }

// wantNoDeletes fails the test if a Work was deleted that had to stay.
func (f *faultRow) wantNoDeletes() {
	f.t.Helper()
	if wrong := f.wrongDeletes(); len(wrong) > 0 {
		f.t.Errorf("the daemon deleted %q", wrong)
	}
}

func (f *faultRow) wrongDeletes() []string {
	f.t.Helper()
	var wrong []string
	for _, name := range f.audit.deleted(f.t) {
		if !f.due[name] && (f.known == nil || f.known[name]) {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

// converge waits until every Work that is wanted is there and right, and no
// other is, and writes the row.
func (f *faultRow) converge(limit time.Duration) {
	f.t.Helper()
	if f.healed.IsZero() {
		f.heal()
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	defer cancel()
	err := env.Wait(ctx, "the Works to be as wanted", func(ctx context.Context) error {
		if f.daemon != nil {
			f.daemon.ensure(f.t)
		}
		return disagreement(ctx, f.namespace, f.resources...)
	})
	took := time.Since(f.healed)
	var lost *lostWorks
	r := row{Fault: f.name, WrongDeletes: len(f.wrongDeletes()), Converged: took, Note: f.note}
	if errors.As(err, &lost) {
		r.Lost = lost.count()
	}
	env.rows.add(r)
	f.wantNoDeletes()
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Logf("%s: in sync %s after it was over", f.name, took.Round(10*time.Millisecond))
}

// lostWorks is how what is there differs from what is wanted.
type lostWorks struct {
	missing, stale, surplus []string
}

func (l *lostWorks) count() int { return len(l.missing) + len(l.stale) + len(l.surplus) }

func (l *lostWorks) Error() string {
	return fmt.Sprintf("%d Works are missing, %d are stale, %d are not wanted: %.300q",
		len(l.missing), len(l.stale), len(l.surplus), slices.Concat(l.missing, l.stale, l.surplus))
}

// disagreement compares a namespace's sources with their Works, by what the API
// server says: who asks for a cluster that has joined has a Work there that means
// what its source does, and there is no other. What a source asks for, and means, is
// read as the daemon reads it; the data of ConfigMaps are compared as they are.
func disagreement(ctx context.Context, namespace string, resources ...schema.GroupVersionResource) error {
	wanted, err := wantedWorks(ctx, namespace, resources)
	if err != nil {
		return err
	}
	list, err := env.admin.Resource(works).List(ctx, metav1.ListOptions{LabelSelector: mirror.OurWorks})
	if err != nil {
		return err
	}
	var d lostWorks
	for i := range list.Items {
		key := list.Items[i].GetNamespace() + "/" + list.Items[i].GetName()
		source, ok := wanted[key]
		if !ok && sourceNamespace(&list.Items[i]) != namespace {
			continue // of another test: a digest of each would take long
		}
		w := mirror.NewWork(&list.Items[i])
		delete(wanted, key)
		switch {
		case !ok && w.Source.Namespace == namespace && w.Terminating:
			d.surplus = append(d.surplus, key+" (terminating)")
		case !ok && w.Source.Namespace == namespace:
			d.surplus = append(d.surplus, key)
		case ok && source.Kind == "ConfigMap" && !equality.Semantic.DeepEqual(source.data, dataOf(&list.Items[i])):
			d.stale = append(d.stale, key+", which has other data")
		case ok && (w.Terminating || w.Held != nil || !w.IsMadeFrom(source.UID) || w.Digest != source.Template.Digest()):
			d.stale = append(d.stale, key)
		}
	}
	d.missing = slices.Sorted(maps.Keys(wanted))
	if d.count() > 0 {
		return &d
	}
	return nil
}

// sourceNamespace is the namespace of the source that a Work says it is of.
func sourceNamespace(work *unstructured.Unstructured) string {
	id, _ := render.ParseIdentity(work.GetAnnotations()[render.SourceAnnotation])
	return id.Namespace
}

// dataOf is the data of the ConfigMap that a Work carries.
func dataOf(work *unstructured.Unstructured) any {
	manifests, _, _ := unstructured.NestedSlice(work.Object, "spec", "workload", "manifests")
	if len(manifests) != 1 {
		return nil
	}
	return manifests[0].(map[string]any)["data"]
}

// worksOf lists the Works of a namespace's sources, as the daemon sees them and as
// they are.
func worksOf(t *testing.T, namespace string) map[*mirror.Work]*unstructured.Unstructured {
	t.Helper()
	list, err := env.admin.Resource(works).List(t.Context(), metav1.ListOptions{LabelSelector: render.ManagedByLabel})
	if err != nil {
		t.Fatal(err)
	}
	all := map[*mirror.Work]*unstructured.Unstructured{}
	for i := range list.Items {
		if sourceNamespace(&list.Items[i]) != namespace {
			continue
		}
		if w := mirror.NewWork(&list.Items[i]); w.Source.Namespace == namespace {
			all[w] = &list.Items[i]
		}
	}
	return all
}

// wantedSource is a source that wants Works.
type wantedSource struct {
	*mirror.Source
	Kind string
	data any
}

// wantedWorks are the sources by the namespace/name of each Work that they want. A
// source that asks and is refused is an error.
func wantedWorks(ctx context.Context, namespace string, resources []schema.GroupVersionResource) (map[string]wantedSource, error) {
	joined, err := env.admin.Resource(clusters).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	wanted := map[string]wantedSource{}
	for _, resource := range resources {
		list, err := env.admin.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			data := list.Items[i].Object["data"]
			source := mirror.NewSource(&list.Items[i], render.Wishes{})
			if source.Asks && source.Refusal != nil {
				return nil, fmt.Errorf("source %q is refused: %s", source.ID, source.Refusal.Message)
			}
			if !source.Asks {
				continue
			}
			for _, cluster := range joined.Items {
				if source.Terms.Matches(cluster.GetName(), cluster.GetLabels()) {
					wanted[render.ExecutionNamespace(cluster.GetName())+"/"+source.ID.WorkName()] = wantedSource{source, source.ID.Kind, data}
				}
			}
		}
	}
	return wanted, nil
}

// row is one row of docs/reliability.md.
type row struct {
	Fault        string
	Lost         int
	WrongDeletes int
	Converged    time.Duration
	Note         string
}

// rows collects what the tests of one run have measured.
type rows struct {
	mu  sync.Mutex
	all []row
}

func (r *rows) add(one row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// note changes the remark of a row that is there.
func (r *rows) note(fault, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.all {
		if r.all[i].Fault == fault {
			r.all[i].Note = note
		}
	}
}
