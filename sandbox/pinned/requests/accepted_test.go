package requests

import "regexp"

// accepted are the differences that do not count, as texts that are replaced in both answers.
var accepted = []struct {
	reason  string
	pattern *regexp.Regexp
	with    string
}{
	{"the key has the prefix of the API server's option, or none in a dry run", regexp.MustCompile(`Key: [^,]+,`), "Key: KEY,"},
	{"the oldest version of the watch cache is its own", regexp.MustCompile(`too old resource version: \d+ \(\d+\)`), "too old resource version"},
	{"the name of a type", regexp.MustCompile(`Go value of type \S+`), "Go value of type T"},
	{"the message quotes the whole object, with managedFields; the error is the decoder's own", regexp.MustCompile(`(?s)((^|patch: )Invalid value: ").*": (unrecognized type|json: cannot unmarshal|no kind).*`), `$1…`},
}
