// Command karmada-mirror mirrors annotated objects of a Karmada control plane
// to its member clusters.
package main

import (
	"os"

	"github.com/karmada-target/karmada-mirror/cli"
)

func main() {
	os.Exit(cli.Main())
}
