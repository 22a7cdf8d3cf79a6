package render

import "strconv"

// maxQuoted is how many characters of a user's text a message repeats.
const maxQuoted = 60

// quote formats a user's text for a message: on one line, in ASCII and bounded.
func quote(s string) string {
	if len(s) <= maxQuoted {
		if q := strconv.QuoteToASCII(s); len(q) <= maxQuoted {
			return q
		}
	}
	return strconv.QuoteToASCII(s[:min(len(s), maxQuoted)])[:maxQuoted-4] + `..."`
}
