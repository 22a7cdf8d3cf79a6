//go:build !race

package gather

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/mirror/state"
	"github.com/karmada-target/karmada-mirror/render"
	"github.com/karmada-target/karmada-mirror/watch"
)

// heapOf returns how many bytes an object takes in a cache of n, including the indexes.
func heapOf(t *testing.T, n int, indexers cache.Indexers, keep cache.TransformFunc, encoded func(i int) []byte) int {
	t.Helper()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	before := heapInUse()
	for i := range n {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(encoded(i)); err != nil {
			t.Fatal(err)
		}
		kept, err := keep(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Add(kept); err != nil {
			t.Fatal(err)
		}
	}
	used := heapInUse() - before
	runtime.KeepAlive(store)
	return int(used) / n
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func encodedConfigMap(annotation string, size int) func(int) []byte {
	content := strings.Repeat("x", size)
	return func(i int) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop-%d","name":"object-%05d","uid":"4f6c0d3e-0f1c-4a53-9d52-%012d","resourceVersion":"%d","creationTimestamp":"2026-01-02T03:04:05Z",%s"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:data":{"f:key":{}}}}]},"data":{"key":%q}}`,
			i%100, i, i, 100000+i, annotation, content)
	}
}

// TestCostOfCaches limits the memory that an object takes in a cache of very many.
func TestCostOfCaches(t *testing.T) {
	const n = 50_000
	asks := encodedConfigMap(`"annotations":{"`+render.ClustersAnnotation+`":"member1,member2"},`, 1000)
	for _, tc := range []struct {
		what    string
		n, most int
		heap    func(n int) int
	}{
		{"an object that does not ask", n, 330, func(n int) int {
			return heapOf(t, n, objectIndexers(), watch.Keep(state.KeepObject(asksForNothing, nil)), encodedConfigMap("", 1000))
		}},
		{"one that asks", n / 10, len(asks(0)) * 3 / 2, func(n int) int {
			return heapOf(t, n, objectIndexers(), watch.Keep(state.KeepObject(asksForNothing, nil)), asks)
		}},
		{"a Work", n, 660, func(n int) int { return heapOf(t, n, workIndexers(), watch.Keep(state.NewWork), encodedWork(t, asks)) }},
	} {
		got := tc.heap(tc.n)
		t.Logf("%s takes %d bytes of %d", tc.what, got, tc.most)
		if got > tc.most {
			t.Errorf("%s takes %d bytes, more than %d", tc.what, got, tc.most)
		}
	}
}

func asksForNothing(*state.Object) bool { return false }

// encodedWork returns the Work of a source as the API server sends it.
func encodedWork(t *testing.T, source func(int) []byte) func(int) []byte {
	return func(i int) []byte {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(source(i)); err != nil {
			t.Fatal(err)
		}
		ofServer := fmt.Sprintf(`"metadata":{"uid":"5f6c0d3e-0f1c-4a53-9d52-%012d","resourceVersion":"%d","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z",`, i, 200000+i)
		return []byte(strings.Replace(string(judge.NewSource(u, render.Wishes{}).Template.Work("member1")), `"metadata":{`, ofServer, 1))
	}
}
