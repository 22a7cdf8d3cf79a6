package docs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Page is a page of the documentation.
type Page struct {
	// Path is the path of the file.
	Path string
	// Steps are the blocks that are run, in order.
	Steps []*Step
	// Data are its YAML and JSON blocks.
	Data []Block
	// Links are its link destinations that are not URLs.
	Links []Block
	// Anchors are what a link into the page can name.
	Anchors []string
	// Rows are the cells of its tables, without headers, as plain text.
	Rows [][]string
}

// Block is a piece of a page.
type Block struct {
	Line int
	Text string
}

// Step is a block that is run.
type Step struct {
	Block
	// Expected is what it prints; nil if the page does not show it.
	Expected *Output
	// Skip is why it is not run; empty if it is.
	Skip string
	// Status is its expected exit status.
	Status int
	// Eventually means that it is retried until it ends and prints as it should.
	Eventually bool
	// Hidden means that readers do not see it.
	Hidden bool
	// Heading is the heading above it; empty if there is none.
	Heading string
}

// illustrations are languages whose blocks are not checked.
var illustrations = []string{"text", "go", "promql", "make"}

// Read reads a page. It returns an error if a block does not say what it is.
func Read(path string) (*Page, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read a page: %w", err)
	}
	r := &reader{page: &Page{Path: path}, source: source}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			r.errs = append(r.errs, r.read(node))
		}
		return ast.WalkContinue, nil
	})
	return r.page, errors.Join(append(r.errs, err, r.unused())...)
}

type reader struct {
	page   *Page
	source []byte
	// next is what comments say about the next block; nil if nothing.
	next *Step
	// elsewhere is why no later block of the page is run; empty if they are.
	elsewhere string
	heading   string // the last one
	errs      []error
}

func (r *reader) read(node ast.Node) error {
	switch n := node.(type) {
	case *ast.Heading:
		r.heading = r.words(n)
		r.addAnchor(n)
	case *ast.Link:
		r.addLink(n, n.Destination)
	case *ast.Image:
		r.addLink(n, n.Destination)
	case *east.TableRow:
		r.page.Rows = append(r.page.Rows, r.cells(n))
	case *ast.HTMLBlock:
		return r.readComment(n)
	case *ast.FencedCodeBlock:
		return r.readBlock(r.block(n), string(n.Language(r.source)))
	case *ast.CodeBlock:
		return r.complain(r.block(n).Line, "an indented block has no language: fence it")
	}
	return nil
}

func (r *reader) complain(line int, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %s", r.page.Path, line, fmt.Sprintf(format, arguments...))
}

func (r *reader) block(n ast.Node) Block {
	lines := n.Lines()
	if lines.Len() == 0 {
		return Block{}
	}
	return Block{Line: 1 + bytes.Count(r.source[:lines.At(0).Start], []byte("\n")), Text: string(lines.Value(r.source))}
}

func (r *reader) readBlock(b Block, language string) error {
	if language == "console" {
		return r.readOutput(b)
	}
	said := r.next
	r.next = nil
	switch {
	case language == "sh":
		step := &Step{}
		if said != nil {
			step = said
		}
		step.Block, step.Heading = b, r.heading
		if step.Skip == "" {
			step.Skip = r.elsewhere
		}
		r.page.Steps = append(r.page.Steps, step)
	case said != nil:
		return r.complain(b.Line, "a test comment precedes a block that is not run")
	case language == "yaml", language == "json":
		r.page.Data = append(r.page.Data, b)
	case !slices.Contains(illustrations, language):
		return r.complain(b.Line, "a block has language %q: want sh, console, yaml, json, %s", language, strings.Join(illustrations, ", "))
	}
	return nil
}

func (r *reader) readOutput(b Block) error {
	for _, step := range slices.Backward(r.page.Steps) {
		if step.Hidden {
			continue
		}
		if step.Expected != nil {
			break
		}
		expected, err := parseOutput(b.Text)
		step.Expected = expected
		return err
	}
	return r.complain(b.Line, "no block before it prints this")
}

// readComment reads what an HTML comment says to the test, if anything.
func (r *reader) readComment(n *ast.HTMLBlock) error {
	b := r.block(n)
	if n.HasClosure() {
		b.Text += string(n.ClosureLine.Value(r.source))
	}
	said, found := strings.CutPrefix(strings.TrimSpace(b.Text), "<!-- test: ")
	if !found {
		return nil
	}
	said, _, found = strings.Cut(said, "-->")
	verb, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	if script, ok := strings.CutPrefix(said, "run\n"); ok && found {
		r.page.Steps = append(r.page.Steps, &Step{Block: Block{Line: b.Line + 1, Text: script}, Hidden: true, Heading: r.heading})
		return nil
	}
	if verb == "elsewhere" && rest != "" {
		r.elsewhere = rest
		return nil
	}
	if r.next == nil {
		r.next = &Step{Block: Block{Line: b.Line}}
	}
	var err error
	switch {
	case verb == "skip" && rest != "":
		r.next.Skip = rest
	case verb == "exits":
		r.next.Status, err = strconv.Atoi(rest)
	case verb == "eventually" && rest == "":
		r.next.Eventually = true
	default:
		err = errors.New("want run, skip REASON, elsewhere REASON, exits N or eventually")
	}
	if err != nil {
		return r.complain(b.Line, "cannot read %q: %v", said, err)
	}
	return nil
}

func (r *reader) unused() error {
	if r.next != nil {
		return r.complain(r.next.Line, "no block follows this test comment")
	}
	return nil
}

func (r *reader) addLink(n ast.Node, destination []byte) {
	link := string(destination)
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return
	}
	parent := n.Parent()
	for parent.Type() == ast.TypeInline || parent.Lines().Len() == 0 && parent.Parent() != nil {
		parent = parent.Parent()
	}
	r.page.Links = append(r.page.Links, Block{Line: r.block(parent).Line, Text: link})
}

func (r *reader) cells(row *east.TableRow) []string {
	var cells []string
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		cells = append(cells, r.words(cell))
	}
	return cells
}

// words returns the text of a node without its markup.
func (r *reader) words(n ast.Node) string {
	var words strings.Builder
	_ = ast.Walk(n, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := node.(*ast.Text); ok && entering {
			words.Write(t.Segment.Value(r.source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// addAnchor adds the anchor that GitHub makes for a heading.
func (r *reader) addAnchor(n *ast.Heading) {
	anchor := strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, r.words(n))
	unique := anchor
	for i := 1; slices.Contains(r.page.Anchors, unique); i++ {
		unique = fmt.Sprintf("%s-%d", anchor, i)
	}
	r.page.Anchors = append(r.page.Anchors, unique)
}
