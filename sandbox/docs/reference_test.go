package docs

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/karmada-target/karmada-mirror/config"
	"github.com/karmada-target/karmada-mirror/mirror/judge"
	"github.com/karmada-target/karmada-mirror/render"
)

func reference(name string) string { return filepath.Join("..", "..", "docs", "reference", name) }

// firstCells returns the first cell of each row of a page's tables.
func firstCells(t *testing.T, name string) []string {
	t.Helper()
	page, err := Read(reference(name))
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, row := range page.Rows {
		cells = append(cells, row[0])
	}
	return cells
}

// TestTables compares the tables of the reference with the code.
func TestTables(t *testing.T) {
	cases := map[string][]string{
		"annotations.md": {
			render.ClustersAnnotation, render.ClusterSelectorAnnotation, render.SuspendAnnotation,
			render.PreserveOnDeletionAnnotation, render.ExpandAnnotation, render.ReplicasAnnotation, render.DeletionAnnotation,
			render.WavesAnnotation, render.WaveBakeAnnotation, render.WaveDeadlineAnnotation, render.ConflictResolutionAnnotation,
		},
		"works.md": {
			render.ManagedByLabel, render.SourceIDLabel, render.SourceAnnotation, render.SourceUIDAnnotation,
			render.SourceCreatedAnnotation, render.OverriddenByAnnotation, render.ShareAnnotation, render.RenderedAnnotation, render.WrittenAnnotation, render.HeldKey, render.HandoverAnnotation,
		},
		"configuration.md": fields(reflect.TypeFor[config.Configuration](), ""),
	}
	for page, want := range cases {
		got := firstCells(t, page)
		if page == "configuration.md" || page == "annotations.md" { // their other tables list something else
			got = slices.DeleteFunc(got, func(cell string) bool { return !slices.Contains(want, cell) })
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, -code +page:\n%s", page, diff)
		}
	}
}

// fields returns the paths of the fields that a user sets, by their JSON names.
func fields(of reflect.Type, path string) []string {
	var paths []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		kind := field.Type
		path := path + name
		switch {
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
			paths = append(append(paths, path), fields(kind.Elem(), path+"[].")...)
		case kind.Kind() == reflect.Struct && kind.PkgPath() == of.PkgPath():
			paths = append(paths, fields(kind, path+".")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// TestReasons compares the page with the reasons and hints in the code.
func TestReasons(t *testing.T) {
	page, err := Read(reference("reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, reason := range judge.Reasons() {
		want[string(reason)] = reason.Hint()
	}
	for _, row := range page.Rows {
		got[row[0]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons, -code +page:\n%s", diff)
	}
}
