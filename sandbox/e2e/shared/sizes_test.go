//go:build !long

package shared

import "time"

// These say how much `make test` tries.
const (
	massRecreated       = 100
	configurationCycles = 20
	refusedAtOnce       = 100              // objects with the same mistake
	crashEvery          = 4                // one in so many writes at which a daemon is killed
	fleetObjects        = 50               // objects created while clusters join and leave
	policyStride        = 11               // one in so many Namespaces, and one in so many steps in each, are tried
	randomTenantFor     = 30 * time.Second // unless TENANT is set
	squatters           = 3                // objects with the same Work names as Karmada's own
)
