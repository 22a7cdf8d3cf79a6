package dashboard

import (
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"gonum.org/v1/plot/plotter"
)

// samples has a value every two seconds.
func samples(values ...float64) []model.SamplePair {
	var points []model.SamplePair
	for i, v := range values {
		points = append(points, model.SamplePair{Timestamp: model.Time(1_800_000_000_000 + int64(i)*scrapeInterval.Milliseconds()), Value: model.SampleValue(v)})
	}
	return points
}

func TestDraw(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "manifests", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	results := map[string][]line{}
	for i, p := range b.Panels {
		if i%5 != 0 { // every fifth has no data
			results[p.Title] = []line{{"ready", samples(1, 2, math.NaN(), 3, 1)}, {"another", samples(0.001, 0.002, 0.3, 0, 7)}}
		}
	}
	picture := filepath.Join(t.TempDir(), "dashboard.png")
	if err := draw(picture, b, results); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	image, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	painted := map[[3]uint32]bool{}
	for x := range image.Bounds().Dx() {
		for y := range image.Bounds().Dy() {
			r, g, b, _ := image.At(x, y).RGBA()
			painted[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for _, name := range []string{"green", "red", "orange"} {
		if c := colors[name]; !painted[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}] {
			t.Errorf("nothing in the picture is %s", name)
		}
	}
}

func TestParts(t *testing.T) {
	points := samples(1, 2, math.NaN(), 3, 4, 5)
	points = append(points[:4], points[5]) // one is missing
	var got [][]float64
	for _, part := range parts(line{points: points}) {
		got = append(got, values(part))
	}
	if diff := cmp.Diff([][]float64{{1, 2}, {3}, {5}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStacked(t *testing.T) {
	var got [][]float64
	for _, l := range stacked([]line{{"a", samples(1, 2)}, {"b", samples(10, 20)}}) {
		got = append(got, values(parts(l)[0]))
	}
	if diff := cmp.Diff([][]float64{{1, 2}, {11, 22}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func values(part plotter.XYs) []float64 {
	var all []float64
	for _, xy := range part {
		all = append(all, xy.Y)
	}
	return all
}

func TestFormat(t *testing.T) {
	cases := map[string]struct {
		reason string
		unit   string
		value  float64
		want   string
	}{
		"Memory":   {"in binary units", "bytes", 64 << 20, "64 MiB"},
		"Short":    {"below a second in milliseconds", "s", 0.0061, "6.1 ms"},
		"Nothing":  {"zero has no scale", "s", 0, "0 s"},
		"Long":     {"above a minute in minutes", "s", 150, "2.5 min"},
		"Rate":     {"writes each second", "ops", 12.5, "12.5/s"},
		"Unitless": {"a count", "short", 120, "120"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := format(tc.unit, tc.value); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
