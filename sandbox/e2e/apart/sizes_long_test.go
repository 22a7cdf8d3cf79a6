//go:build long

package apart

// byHelm: what is installed by kustomize is installed by Helm, too.
const byHelm = true
