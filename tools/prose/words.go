// Package prose holds the project's English: words and phrases that read like a
// translation are found in comments, string literals and pages. A prose linter
// such as Vale reads comments and pages, but not the messages in a program.
package prose

import "regexp"

// phrase is what is not to be written, and what to write instead.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

func phraseOf(pattern, instead string) phrase {
	return phrase{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead}
}

// phrases are matched in text without line breaks.
var phrases = []phrase{
	phraseOf(`who(?:m|so)?ever`, "anyone who, the user who"),
	phraseOf(`shall`, "must, will, should"),
	phraseOf(`nobody|somebody`, "name the actor: another user, another controller, no one"),
	phraseOf(`mend(?:s|ed|ing)?`, "fix"),
	phraseOf(`anew`, "again"),
	phraseOf(`lest|thereof|therein|henceforth`, "in order not to; of it, in it; from now on"),
	phraseOf(`such an? one`, "name it again"),
	phraseOf(`by lot`, "at random"),
	phraseOf(`of before`, "earlier, previous; predates"),
	phraseOf(`left out:`, "default:"),
	phraseOf(`bears`, "has, carries"),
	phraseOf(`c(?:o|a)mes? about`, "happens, takes place"),
	phraseOf(`lets? (?:it|them|one|all|none|either|such) go`, "delete, release, approve, remove"),
	phraseOf(`lets? go(?: of)?`, "delete, release, approve, remove"),
	phraseOf(`(?:is|are|was|were|be|been|being) told`, "reports, learns, sees; who tells whom?"),
	phraseOf(`(?:is|are|was|were) of`, "belongs to, comes from, predates"),
	phraseOf(`is no (?:name|cluster|object|kind|resource|time|number|key|label|longer wanted)`, "is not a"),
	phraseOf(`nor (?:is|are)`, "and … not either"),
	phraseOf(`once more`, "again"),
	phraseOf(`(?:has|have) to be worth|worth a look`, "must be worth; check"),
	phraseOf(`(?:is|are) asked (?:for|who|by)`, "who asks for what?"),
	phraseOf(`(?:leave|leaves|leaving|left) (?:it |them |this |that )?(?:out|open)`, "omit, skip, exclude; not shown, not specified"),
	phraseOf(`(?:change|changes|all of it|all of them) (?:is|are|was|were) (?:fully )?carried out`, "the whole change is applied"),
	phraseOf(`tried again`, "retried"),
	phraseOf(`(?:tell|tells|telling|told) of`, "reports, mentions"),
	phraseOf(`(?:is|are) no (?:screenshot|measurement|obstacle|concern|map)`, "is not a"),
	phraseOf(`(?:go|goes|going|went) on with`, "continues with"),
	phraseOf(`(?:bring|brings|bringing|brought) nothing`, "makes no progress, returns nothing"),
	phraseOf(`in sum`, "in total"),
	phraseOf(`and, inside,`, "starting and ending with"),
	phraseOf(`goes with its`, "is deleted with its, when its"),
	phraseOf(`some(?:one|body) else also`, "a second writer; two writers"),
}
