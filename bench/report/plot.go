package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a plot on the page.
const (
	plotWidth  = 17 * vg.Centimeter
	plotHeight = 8 * vg.Centimeter
)

// palette returns the i-th color; the colors are distinct in gray too.
func palette(i int) color.Color {
	colors := []color.RGBA{
		{0x1b, 0x6c, 0xa8, 0xff},
		{0xd9, 0x5f, 0x02, 0xff},
		{0x1b, 0x9e, 0x77, 0xff},
		{0xc2, 0x2f, 0x5b, 0xff},
		{0x75, 0x70, 0xb3, 0xff},
		{0x66, 0x66, 0x66, 0xff},
	}
	return colors[i%len(colors)]
}

// line is one named series of a plot.
type line struct {
	name   string
	points plotter.XYs
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	return p
}

// addLines draws lines with points. It omits empty lines.
func addLines(p *plot.Plot, lines []line) error {
	for i, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		drawn, dots, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return fmt.Errorf("report: plot of %s: %w", l.name, err)
		}
		drawn.Color, drawn.Width = palette(i), vg.Points(1.4)
		dots.Color, dots.Shape, dots.Radius = palette(i), draw.CircleGlyph{}, vg.Points(2)
		p.Add(drawn, dots)
		if len(lines) > 1 {
			p.Legend.Add(l.name, drawn, dots)
		}
	}
	return nil
}

// svg returns the plot as an SVG element.
func svg(p *plot.Plot) (string, error) {
	c := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	text := b.String()
	if i := bytes.Index(b.Bytes(), []byte("<svg")); i >= 0 {
		text = text[i:]
	}
	return text, nil
}

// latencyPlot draws percentiles. The x axis is nines(percentile), which spreads the tail.
func latencyPlot(all []Latency) (string, error) {
	p := newPlot("Latency from the intended send time", "percentile", "ms")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	var lines []line
	var ticks []plot.Tick
	for _, q := range Quantiles() {
		ticks = append(ticks, plot.Tick{Value: nines(q), Label: fmt.Sprintf("%g", q)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	for i := range all {
		l := line{name: all[i].Name}
		for k, q := range Quantiles() {
			if k < len(all[i].P) {
				l.points = append(l.points, plotter.XY{X: nines(q), Y: max(all[i].P[k], 1) / 1e3})
			}
		}
		lines = append(lines, l)
	}
	if err := addLines(p, lines); err != nil {
		return "", err
	}
	return svg(p)
}

// nines returns the x coordinate of a percentile, which spreads the tail: 90 is 1, 99 is 2, 99.9 is 3. 100
// follows 99.99.
func nines(percent float64) float64 {
	if percent >= 100 {
		return 4.5
	}
	return -math.Log10(1 - percent/100)
}

// throughputPlot draws the number of answers in each second.
func throughputPlot(all []Latency) (string, error) {
	p := newPlot("Answers of each second", "s", "answers")
	p.Y.Min = 0
	var lines []line
	for i := range all {
		l := line{name: all[i].Name}
		for s, n := range all[i].PerSecond {
			l.points = append(l.points, plotter.XY{X: float64(s), Y: float64(n)})
		}
		lines = append(lines, l)
	}
	if err := addLines(p, lines); err != nil {
		return "", err
	}
	return svg(p)
}

// curvePlot draws a cost over a size with two logarithmic axes.
func curvePlot(c *Curve) (string, error) {
	p := newPlot(fmt.Sprintf("%s (slope %.2f)", c.Name, c.Slope), c.XLabel, c.YLabel)
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	l := line{name: c.Name}
	for i := range c.X {
		if c.X[i] > 0 && c.Y[i] > 0 {
			l.points = append(l.points, plotter.XY{X: c.X[i], Y: c.Y[i]})
		}
	}
	if len(l.points) < 2 {
		return "", nil
	}
	if err := addLines(p, []line{l}); err != nil {
		return "", err
	}
	return svg(p)
}

// ratioPlot draws for each goal the rounds' figures divided by the target. At the line 1 the goal is met; costs
// should be below, rates above.
func ratioPlot(goals []*Measure) (string, error) {
	p := newPlot("Goals: measured over target, best, smallest and largest round (1 is the target)", "",
		"measured / target")
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	var names []string
	var best plotter.XYs
	var bars []plotter.XYs
	for _, m := range goals {
		sp := m.Spread()
		if m.Target == 0 || m.Best() <= 0 || sp.Min <= 0 {
			continue
		}
		flip := func(v float64) float64 {
			if m.Higher {
				return m.Target / v
			}
			return v / m.Target
		}
		x := float64(len(names))
		best = append(best, plotter.XY{X: x, Y: flip(m.Best())})
		bars = append(bars, plotter.XYs{{X: x, Y: flip(sp.Min)}, {X: x, Y: flip(sp.Max)}})
		names = append(names, m.Goal)
	}
	if len(best) == 0 {
		return "", nil
	}
	for _, b := range bars {
		l, err := plotter.NewLine(b)
		if err != nil {
			return "", fmt.Errorf("report: %w", err)
		}
		l.Color, l.Width = color.Gray{0xb0}, vg.Points(2)
		p.Add(l)
	}
	dots, err := plotter.NewScatter(best)
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	dots.Color, dots.Shape, dots.Radius = palette(0), draw.CircleGlyph{}, vg.Points(3)
	p.Add(dots)
	one := plotter.XYs{{X: -0.5, Y: 1}, {X: float64(len(names)) - 0.5, Y: 1}}
	target, err := plotter.NewLine(one)
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	target.Color, target.Width = palette(3), vg.Points(1)
	p.Add(target)
	p.NominalX(names...)
	p.X.Tick.Label.Font.Size = vg.Points(6)
	return svg(p)
}
