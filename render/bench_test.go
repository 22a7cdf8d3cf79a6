package render

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// benchObject returns a typical workload of some 4 KB.
func benchObject() map[string]any {
	containers := make([]any, 4)
	for i := range containers {
		env := make([]any, 12)
		for j := range env {
			env[j] = map[string]any{"name": fmt.Sprintf("VARIABLE_%d", j), "value": "some value of usual length"}
		}
		containers[i] = map[string]any{"name": fmt.Sprintf("c%d", i), "image": "registry.example.com/app:1.2.3", "env": env}
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "2",
			"annotations": map[string]any{ClustersAnnotation: "member1"}, "labels": map[string]any{"app": "web"},
		},
		"spec":   map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{"containers": containers}}},
		"status": map[string]any{"replicas": int64(3)},
	}
}

func BenchmarkNewManifest(b *testing.B) {
	b.ReportAllocs()
	source := benchObject()
	id := identityOf(&unstructured.Unstructured{Object: source})
	for b.Loop() {
		b.StopTimer()
		obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(source)}
		b.StartTimer()
		if _, err := NewManifest(obj, id, "1"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWork measures what one more cluster costs.
func BenchmarkWork(b *testing.B) {
	b.ReportAllocs()
	works := mustTemplate(b, benchObject(), Options{}).Works()
	for b.Loop() {
		works.For("member1")
	}
}

// BenchmarkWorks measures what all clusters have in common.
func BenchmarkWorks(b *testing.B) {
	b.ReportAllocs()
	template := mustTemplate(b, benchObject(), Options{})
	for b.Loop() {
		template.Works()
	}
}

// BenchmarkWorkMarshal measures what it would cost to encode the Work for each cluster.
func BenchmarkWorkMarshal(b *testing.B) {
	b.ReportAllocs()
	var work map[string]any
	if err := json.Unmarshal(mustTemplate(b, benchObject(), Options{}).Work("member1"), &work); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := json.Marshal(work); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigestOf(b *testing.B) {
	b.ReportAllocs()
	var work map[string]any
	if err := json.Unmarshal(mustTemplate(b, benchObject(), Options{}).Work("member1"), &work); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := DigestOf(work, "karmada-es-member1", "page-1"); err != nil {
			b.Fatal(err)
		}
	}
}
