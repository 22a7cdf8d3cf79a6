package dashboard

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"time"

	"github.com/prometheus/common/model"
	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The page: Grafana's grid has 24 columns, and as many rows as are needed.
const (
	columnWidth = 38.0 // points
	rowHeight   = 20.0
	gap         = 3.0
	head        = 14.0 // of a panel: its title
	foot        = 14.0 // of a panel: its legend
)

var (
	paper  = color.RGBA{0xf4, 0xf5, 0xf5, 0xff}
	white  = color.RGBA{0xff, 0xff, 0xff, 0xff}
	ink    = color.RGBA{0x24, 0x29, 0x2e, 0xff}
	faint  = color.RGBA{0xd8, 0xdb, 0xde, 0xff}
	colors = map[string]color.RGBA{
		"green": {0x56, 0xa6, 0x4b, 0xff}, "red": {0xe0, 0x2f, 0x44, 0xff}, "yellow": {0xf2, 0xcc, 0x0c, 0xff},
		"blue": {0x32, 0x74, 0xd9, 0xff}, "purple": {0xa3, 0x52, 0xcc, 0xff}, "orange": {0xff, 0x78, 0x0a, 0xff},
	}
	palette = []color.RGBA{
		colors["green"], colors["orange"], colors["blue"], colors["red"], colors["purple"], colors["yellow"],
		{0x1f, 0x9a, 0xa1, 0xff}, {0x70, 0x5d, 0xa0, 0xff}, {0x89, 0x6b, 0x3d, 0xff}, {0x58, 0x6a, 0x7a, 0xff},
	}
)

// draw writes a picture of the dashboard.
func draw(file string, b board, results map[string][]line) error {
	rows := 0
	for _, p := range b.Panels {
		rows = max(rows, p.GridPos.Y+p.GridPos.H)
	}
	width, height := vg.Length(24*columnWidth), vg.Length(float64(rows)*rowHeight)
	image := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110), vgimg.UseBackgroundColor(paper))
	whole := vgdraw.New(image)
	for _, p := range b.Panels {
		g := p.GridPos
		area := vgdraw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: vg.Length(float64(g.X)*columnWidth + gap), Y: height - vg.Length(float64(g.Y+g.H)*rowHeight) + gap},
			Max: vg.Point{X: vg.Length(float64(g.X+g.W)*columnWidth - gap), Y: height - vg.Length(float64(g.Y)*rowHeight) - gap},
		}}
		switch p.Type {
		case "row":
			area.FillText(style(10, true), vg.Point{X: area.Min.X + gap, Y: area.Min.Y + gap}, p.Title)
		case "stat":
			p.drawNumber(area, results[p.Title])
		default:
			if err := p.drawLines(area, results[p.Title]); err != nil {
				return fmt.Errorf("cannot draw %q: %w", p.Title, err)
			}
		}
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: image}).WriteTo(out); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

func style(size float64, bold bool) text.Style {
	f := font.From(plot.DefaultFont, vg.Length(size))
	f.Variant = "Sans"
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: plot.DefaultTextHandler}
}

func fill(c vgdraw.Canvas, paint color.Color) {
	c.FillPolygon(paint, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

// drawNumber draws a panel with a single number: the last.
func (p panel) drawNumber(area vgdraw.Canvas, lines []line) {
	label, paint := "no data", faint
	if len(lines) > 0 && len(lines[0].points) > 0 {
		value := float64(lines[0].points[len(lines[0].points)-1].Value)
		label = format(p.FieldConfig.Defaults.Unit, value)
		for _, m := range p.FieldConfig.Defaults.Mappings {
			if option, ok := m.Options[label]; ok {
				label = option.Text
			}
		}
		for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
			if step.Value == nil || value >= *step.Value {
				paint = colors[step.Color]
			}
		}
	}
	fill(area, paint)
	title, number := style(8, true), style(18, true)
	title.Color, number.Color = white, white
	number.XAlign, number.YAlign = text.XCenter, text.YCenter
	area.FillText(title, vg.Point{X: area.Min.X + 5, Y: area.Max.Y - 11}, p.Title)
	area.FillText(number, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y - 8) / 2}, label)
}

// drawLines draws a panel of lines.
func (p panel) drawLines(area vgdraw.Canvas, lines []line) error {
	fill(area, white)
	area.FillText(style(8, true), vg.Point{X: area.Min.X + 5, Y: area.Max.Y - 11}, p.Title)
	defaults := p.FieldConfig.Defaults
	chart := plot.New()
	chart.BackgroundColor = white
	chart.Y.Min = 0
	chart.X.Tick.Marker = plot.TimeTicks{Format: "15:04", Time: plot.UnixTimeIn(time.UTC), Ticker: minutes{}}
	chart.Y.Tick.Marker = units{few{4}, defaults.Unit}
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.Tick.Label.Font, axis.Tick.Label.Color = style(7, false).Font, ink
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = faint, faint
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	chart.Add(grid)

	paints := p.paints(lines)
	if defaults.Custom.Stacking.Mode == "normal" {
		lines = stacked(lines)
	}
	for i := len(lines) - 1; i >= 0; i-- { // the lower lines over those stacked on them
		for _, part := range parts(lines[i]) {
			l, err := plotter.NewLine(part)
			if err != nil {
				return err
			}
			l.Color, l.Width = paints[i], vg.Points(1)
			if defaults.Custom.Interpolation == "stepAfter" {
				l.StepStyle = plotter.PostStep
			}
			if defaults.Custom.Stacking.Mode == "normal" {
				l.FillColor = pale(paints[i])
			}
			chart.Add(l)
		}
	}
	chart.Y.Min = 0
	chart.Y.Max = max(chart.Y.Max*1.05, 1e-3)
	if len(lines) == 0 || chart.Y.Max < 1e-2 && defaults.Unit != "s" || defaults.Max != nil {
		chart.Y.Max = 1
	}
	if len(lines) == 0 {
		note := style(9, false)
		note.XAlign = text.XCenter
		area.FillText(note, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}, "no data")
		return nil
	}
	chart.Draw(vgdraw.Crop(area, 4, -8, foot, -head))
	drawLegend(area, lines, paints)
	return nil
}

func drawLegend(area vgdraw.Canvas, lines []line, paints []color.RGBA) {
	x, s := area.Min.X+8, style(7, false)
	for i, l := range lines {
		if x+s.Width(l.name) > area.Max.X-10 && i > 0 {
			area.FillText(s, vg.Point{X: x, Y: area.Min.Y + 5}, "…")
			return
		}
		key := vgdraw.Canvas{Canvas: area.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: area.Min.Y + 6}, Max: vg.Point{X: x + 8, Y: area.Min.Y + 9}}}
		fill(key, paints[i])
		area.FillText(s, vg.Point{X: x + 11, Y: area.Min.Y + 5}, l.name)
		x += 18 + s.Width(l.name)
	}
}

// paints returns the colours of lines: the panel's own, else the palette's.
func (p panel) paints(lines []line) []color.RGBA {
	var paints []color.RGBA
	for i, l := range lines {
		paint := palette[i%len(palette)]
		for _, override := range p.FieldConfig.Overrides {
			var fixed struct {
				Color string `json:"fixedColor"`
			}
			if override.Matcher.Options == l.name && len(override.Properties) > 0 && json.Unmarshal(override.Properties[0].Value, &fixed) == nil {
				paint = colors[fixed.Color]
			}
		}
		paints = append(paints, paint)
	}
	return paints
}

func pale(c color.RGBA) color.RGBA {
	mix := func(v uint8) uint8 { return uint8((int(v) + 3*255) / 4) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// stacked puts each line on top of those before it.
func stacked(lines []line) []line {
	below := map[int64]float64{}
	var all []line
	for _, l := range lines {
		on := line{name: l.name}
		for _, point := range l.points {
			below[int64(point.Timestamp)] += float64(point.Value)
			point.Value = model.SampleValue(below[int64(point.Timestamp)])
			on.points = append(on.points, point)
		}
		all = append(all, on)
	}
	return all
}

// parts splits a line at its gaps.
func parts(l line) []plotter.XYs {
	var all []plotter.XYs
	var last int64
	for _, point := range l.points {
		y := float64(point.Value)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			last = 0
			continue
		}
		if at := int64(point.Timestamp); last == 0 || at-last > scrapeInterval.Milliseconds() {
			all = append(all, nil)
		}
		last = int64(point.Timestamp)
		all[len(all)-1] = append(all[len(all)-1], plotter.XY{X: float64(last) / 1000, Y: y})
	}
	return all
}

// few makes about n ticks.
type few struct{ n float64 }

// Ticks implements plot.Ticker.
func (f few) Ticks(low, high float64) []plot.Tick {
	raw := (high - low) / f.n
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if factor*step >= raw {
			step *= factor
			break
		}
	}
	var ticks []plot.Tick
	for at := math.Ceil(low/step) * step; at <= high; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: fmt.Sprintf("%g", at)})
	}
	return ticks
}

// minutes makes a tick every minute.
type minutes struct{}

// Ticks implements plot.Ticker.
func (minutes) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for at := math.Ceil(low/60) * 60; at <= high; at += 60 {
		ticks = append(ticks, plot.Tick{Value: at, Label: "a minute"}) // TimeTicks writes the time
	}
	return ticks
}

// units writes ticks in the unit of a panel.
type units struct {
	few
	unit string
}

// Ticks implements plot.Ticker.
func (u units) Ticks(low, high float64) []plot.Tick {
	ticks := u.few.Ticks(low, high)
	for i := range ticks {
		ticks[i].Label = format(u.unit, ticks[i].Value)
	}
	return ticks
}

// format writes a value about as Grafana would.
func format(unit string, v float64) string {
	number := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	switch {
	case unit == "bytes":
		return number(math.Round(v/(1<<20))) + " MiB"
	case unit == "s" && v >= 60:
		return number(math.Round(v/6)/10) + " min"
	case unit == "s" && v != 0 && v < 1:
		return number(v*1000) + " ms"
	case unit == "s":
		return fmt.Sprintf("%.3g s", v)
	case unit == "ops" || unit == "reqps":
		return number(v) + "/s"
	}
	return number(v)
}
