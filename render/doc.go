// Package render turns a source object into the Works that carry it: pure
// functions over annotations, manifests and names. It knows no client, no
// cache, and not which clusters exist.
package render
