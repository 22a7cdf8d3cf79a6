package prose

import (
	"bytes"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// passage is prose that begins at a line, without its line breaks: a paragraph,
// a comment, or a message.
type passage struct {
	line int
	text string
}

// passages is the prose of a file, by the file's kind.
func passages(name string, content []byte) []passage {
	switch filepath.Ext(name) {
	case ".go":
		return goPassages(content)
	case ".md":
		return pagePassages(content)
	default:
		return linePassages(content)
	}
}

// goPassages are comments, those of consecutive lines as one, and the string
// literals that have a space: those without are names.
func goPassages(source []byte) (all []passage) {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	lastComment := -1
	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)
		switch tok {
		case token.EOF:
			return all
		case token.COMMENT:
			text := strings.TrimPrefix(literal, "//")
			if lastComment == line-1 {
				all[len(all)-1].text += text
			} else {
				all = append(all, passage{line, text})
			}
			lastComment = line
		case token.STRING:
			if text, err := strconv.Unquote(literal); err == nil && strings.Contains(strings.TrimSpace(text), " ") {
				all = append(all, passage{line, text})
			}
			lastComment = -1
		}
	}
}

var (
	inlineCode  = regexp.MustCompile("`[^`]*`")
	htmlComment = regexp.MustCompile(`<!--[^>]*-->`)
	// fencedProse is a comment, or what a command echoes.
	fencedProse = regexp.MustCompile(`(?:^|\s)# (.*)|\becho "([^"]*)"`)
)

const (
	// proseOff and proseOn stand around examples of what is not to be written.
	proseOff = "<!-- prose: off -->"
	proseOn  = "<!-- prose: on -->"
)

// pagePassages are the paragraphs and table rows of a Markdown page, and the
// comments and echoed text in its code.
func pagePassages(page []byte) (all []passage) {
	inFence, isOff, isOpen := false, false, false
	for i, line := range strings.Split(string(page), "\n") {
		isFence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence:
			inFence, isOpen = !inFence, false
		case line == proseOff, line == proseOn:
			isOff, isOpen = line == proseOff, false
		case isOff:
		case inFence:
			if match := fencedProse.FindStringSubmatch(line); match != nil {
				all = append(all, passage{i + 1, match[1] + match[2]})
			}
		case strings.TrimSpace(line) == "":
			isOpen = false
		default:
			text := htmlComment.ReplaceAllString(inlineCode.ReplaceAllString(line, "…"), "")
			if isOpen {
				all[len(all)-1].text += " " + text
			} else {
				all = append(all, passage{i + 1, text})
			}
			isOpen = !strings.HasPrefix(line, "|")
		}
	}
	return all
}

// linePassages are the lines of a file: manifests, the Makefile, expected output.
func linePassages(content []byte) (all []passage) {
	for i, line := range bytes.Split(content, []byte("\n")) {
		all = append(all, passage{i + 1, string(line)})
	}
	return all
}
