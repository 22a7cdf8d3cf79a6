// Package docs runs the commands of the documentation and compares what they print
// with what the pages show. It reads Markdown and drives a shell; it knows nothing of
// Karmada, which its test provides.
//
// In a page, by the language of a fenced block:
//
//	sh         is run, one shell per page: variables and files stay from block to block
//	console    is what the block before prints; see [Output] for what may differ
//	yaml, json must parse; a MirrorConfiguration must be valid
//	text, go   is for reading
//
// and comments before a block, which readers do not see, say more of it:
//
//	<!-- test: skip REASON -->   it is not run, and the test's table says why
//	<!-- test: elsewhere REASON -->  nor is any other of the page that follows
//	<!-- test: exits 1 -->       it ends with this status
//	<!-- test: eventually -->    it is run again until it succeeds and prints that
//	<!-- test: run
//	kubectl create namespace shop
//	-->                          is run, for what a reader has or cleans up anyway
package docs
