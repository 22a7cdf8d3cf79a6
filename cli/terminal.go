package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// isTerminal reports whether in is a terminal, with a user to ask.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// widthOf returns how many characters a line of a terminal has; 0 if out is none.
func widthOf(out io.Writer) int {
	if p, ok := out.(plain); ok {
		out = p.Writer
	}
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// isObeyed reports whether a terminal would obey a character, or show those after it in another order.
func isObeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control)
}

// stripControl replaces everything in a text that a terminal would obey: parts of it may come from a
// file or an API server.
func stripControl(text string) string {
	return strings.Map(func(r rune) rune {
		if isObeyed(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// plain is an output with everything replaced that a terminal would obey. It takes whole characters.
type plain struct{ io.Writer }

// Write implements io.Writer.
func (p plain) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, stripControl(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// escapeControl escapes in JSON what a terminal would obey, so that nothing is lost, and YAML can be made of it.
func escapeControl(encoded []byte) []byte {
	var escaped bytes.Buffer
	for _, r := range string(encoded) {
		if isObeyed(r) { // in a string
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	return escaped.Bytes()
}

// ask returns an error that says what was not done, unless the answer is yes. It does not wait for one when ctx is done.
func ask(ctx context.Context, in io.Reader, out io.Writer, what, otherwise string) error {
	fmt.Fprintf(out, "%s Continue? [y/N] ", what)
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		lines <- line{text, err}
	}()
	var answer line
	select {
	case <-ctx.Done():
		return errors.New(otherwise)
	case answer = <-lines:
	}
	if answer.err != nil && !errors.Is(answer.err, io.EOF) {
		return answer.err
	}
	if text := strings.ToLower(strings.TrimSpace(answer.text)); text != "y" && text != "yes" {
		return errors.New(otherwise)
	}
	return nil
}

// confirm asks on a terminal; elsewhere it returns an error that asks for --yes.
func confirm(ctx context.Context, in io.Reader, out io.Writer, what, otherwise string) error {
	if !isTerminal(in) {
		return fmt.Errorf("%s: cannot ask without a terminal: give --yes. %s", otherwise, what)
	}
	return ask(ctx, in, out, what, otherwise)
}
