package waves

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// state is what a cluster does for some time.
type state string

const (
	rolling state = "rolls out"
	baking  state = "bakes"
	failing state = "does not become healthy"
)

var colors = map[state]color.RGBA{
	rolling: {0x32, 0x74, 0xd9, 0xff}, baking: {0xa9, 0xd6, 0xa3, 0xff}, failing: {0xe0, 0x2f, 0x44, 0xff},
}

// bar is a state of a cluster, from and to in seconds.
type bar struct {
	row      int
	state    state
	from, to float64
}

// bars are what the picture shows of each write: how long the member took to roll it out, and then its
// bake; or how long it has failed.
func (s story) bars() (all []bar) {
	seconds := func(at time.Time) float64 { return at.Sub(s.edits[0].at).Seconds() }
	for i, w := range s.writes {
		until, row := s.end, slices.Index(s.clusters, w.cluster)
		for _, later := range s.writes[i+1:] {
			if later.cluster == w.cluster {
				until = later.at
				break
			}
		}
		if w.isRolledOut.IsZero() {
			all = append(all, bar{row, failing, seconds(w.at), seconds(until)})
			continue
		}
		baked := w.isRolledOut.Add(bake)
		if baked.After(until) {
			baked = until
		}
		all = append(all, bar{row, rolling, seconds(w.at), seconds(w.isRolledOut)}, bar{row, baking, seconds(w.isRolledOut), seconds(baked)})
	}
	return all
}

// width and height are those of the picture.
const width, height = 8 * vg.Inch, 4 * vg.Inch

// plot draws the story.
func (s story) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "karmada.target/waves: " + inWaves + ", wave-bake: " + bake.String()
	p.X.Label.Text, p.X.Tick.Marker = "seconds", everyTen{}
	names := slices.Clone(s.clusters)
	slices.Reverse(names) // the first is at the top
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))+0.4
	p.X.Min, p.X.Max = 0, s.end.Sub(s.edits[0].at).Seconds()
	p.Legend.Left, p.Legend.XOffs, p.Legend.YOffs = true, vg.Points(8), vg.Points(8) // where the first waves leave room
	p.BackgroundColor = color.White
	known := map[state]bool{}
	for _, b := range s.bars() {
		drawn, err := b.polygon(len(names))
		if err != nil {
			return nil, err
		}
		p.Add(drawn)
		if !known[b.state] {
			known[b.state] = true
			p.Legend.Add(string(b.state), drawn)
		}
	}
	return p, s.mark(p)
}

// everyTen has a tick every ten seconds.
type everyTen struct{}

// Ticks implements plot.Ticker.
func (everyTen) Ticks(from, to float64) (ticks []plot.Tick) {
	for second := 10 * math.Ceil(from/10); second <= to; second += 10 {
		ticks = append(ticks, plot.Tick{Value: second, Label: fmt.Sprint(second)})
	}
	return ticks
}

// polygon is the bar in a picture with so many rows.
func (b bar) polygon(rows int) (*plotter.Polygon, error) {
	y := float64(rows - 1 - b.row)
	const half = 0.32
	drawn, err := plotter.NewPolygon(plotter.XYs{{X: b.from, Y: y - half}, {X: b.to, Y: y - half}, {X: b.to, Y: y + half}, {X: b.from, Y: y + half}})
	if err != nil {
		return nil, err
	}
	drawn.Color, drawn.LineStyle.Width = colors[b.state], 0
	return drawn, nil
}

// mark draws when the source was changed.
func (s story) mark(p *plot.Plot) error {
	var at plotter.XYs
	var what []string
	for _, e := range s.edits {
		x := e.at.Sub(s.edits[0].at).Seconds()
		line, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		line.Dashes = []vg.Length{vg.Points(3), vg.Points(3)}
		p.Add(line)
		at, what = append(at, plotter.XY{X: x, Y: p.Y.Max - 0.6}), append(what, " "+strings.TrimSpace(e.what))
	}
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: at, Labels: what})
	if err != nil {
		return err
	}
	p.Add(labels)
	return nil
}
