package bench

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plotted is a chart of the report.
type plotted struct {
	file string
	alt  string // what it shows, in words
	svg  []byte
}

// mostMarked is the largest number of points of a line that are marked: more would hide it.
const mostMarked = 20

// line is a series of points with a name.
type line struct {
	name   string
	points plotter.XYs
}

func (l *line) add(x, y float64) { l.points = append(l.points, plotter.XY{X: x, Y: y}) }

// plot adds a chart of lines; alt says in words what it shows. logX makes the x axis
// logarithmic.
func (r *report) plot(file, alt, title, x, y string, logX bool, lines ...line) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Y.Min = 0
	p.Legend.Top = true
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	for i, l := range lines {
		drawn, points, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return fmt.Errorf("cannot plot %q: %w", l.name, err)
		}
		drawn.Color, drawn.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		points.Color, points.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(drawn)
		p.Legend.Add(l.name, drawn)
		if len(l.points) <= mostMarked {
			p.Add(points)
		}
	}
	writer, err := p.WriterTo(6*vg.Inch, 4*vg.Inch, "svg")
	if err != nil {
		return err
	}
	var svg bytes.Buffer
	if _, err := writer.WriteTo(&svg); err != nil {
		return err
	}
	r.plots = append(r.plots, plotted{file, alt, svg.Bytes()})
	return nil
}
