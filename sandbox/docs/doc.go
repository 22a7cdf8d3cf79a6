// Package docs runs the commands of the documentation and compares what they print
// with what the pages show. It reads Markdown and drives a shell; it knows nothing about
// Karmada, which its test provides.
//
// The language of a fenced block decides what happens to it:
//
//	sh         is run, one shell per page: blocks share variables and files
//	console    is the output of the block before; see [Output] for what may differ
//	yaml, json must parse; a MirrorConfiguration must be valid
//	text, go   is for reading
//
// Comments before a block, which readers do not see, add to that:
//
//	<!-- test: skip REASON -->   it is not run, and the test's table says why
//	<!-- test: elsewhere REASON -->  neither it nor any later block of the page is run
//	<!-- test: exits 1 -->       it exits with this status
//	<!-- test: eventually -->    it is retried until it succeeds with this output
//	<!-- test: run
//	kubectl create namespace shop
//	-->                          is run, for what readers have or clean up anyway
package docs
