package watch

import (
	"bufio"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// frameStart is how the API server begins each event of a watch (metav1.WatchEvent).
const frameStart = `{"type":"`

// lineFramer splits a watch into frames at line ends: an encoded event contains none, and
// ends with one. The embedded Framer, which parses JSON to find the end, takes over if an
// event begins in another way.
type lineFramer struct{ runtime.Framer }

// NewFrameReader implements runtime.Framer.
func (f lineFramer) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &lineReader{Closer: r, lines: bufio.NewReaderSize(r, 64<<10), parse: f.Framer.NewFrameReader}
}

// lineReader reads a frame at a time.
type lineReader struct {
	io.Closer
	lines *bufio.Reader
	parse func(io.ReadCloser) io.ReadCloser
	// parsed reads the frames from the first unexpected one on; nil before that.
	parsed io.Reader
	// within reports that part of a frame has been returned. rest is what else has
	// been read of it, and ends reports that rest is its end.
	within bool
	rest   []byte
	ends   bool
}

// Read returns a frame or, with io.ErrShortBuffer, as much of it as fits into data.
func (l *lineReader) Read(data []byte) (n int, err error) {
	if l.parsed == nil && !l.within && !l.startsAsExpected() {
		l.parsed = l.parse(unread{l.lines, l.Closer})
	}
	if l.parsed != nil {
		return l.parsed.Read(data)
	}
	for {
		copied := copy(data[n:], l.rest)
		n, l.rest = n+copied, l.rest[copied:]
		switch {
		case len(l.rest) > 0 || n == len(data) && !l.ends:
			l.within = true
			return n, io.ErrShortBuffer
		case l.ends:
			l.within, l.ends = false, false
			return n, nil
		}
		if err = l.fill(); err != nil {
			return 0, err
		}
	}
}

// fill reads the rest of the line, or as much as fits into the buffer.
func (l *lineReader) fill() (err error) {
	l.rest, err = l.lines.ReadSlice('\n')
	switch {
	case err == nil:
		l.ends = true
	case errors.Is(err, bufio.ErrBufferFull):
		err = nil
	case err == io.EOF && (l.within || len(l.rest) > 0):
		err = io.ErrUnexpectedEOF
	}
	return err
}

// startsAsExpected checks the beginning of a frame. If there is none, fill returns why.
func (l *lineReader) startsAsExpected() bool {
	start, err := l.lines.Peek(len(frameStart))
	return string(start) == frameStart || err != nil && len(start) == 0
}

// unread is the rest of a stream.
type unread struct {
	io.Reader
	io.Closer
}
