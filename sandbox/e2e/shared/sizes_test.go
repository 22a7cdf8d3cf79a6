//go:build !long

package shared

import "time"

// How much is tried in `make test`.
const (
	massRecreated       = 100
	configurationCycles = 20
	refusedAtOnce       = 100              // objects with one mistake
	crashEvery          = 4                // of the writes that a daemon is killed at
	fleetObjects        = 50               // that are made while clusters join and leave
	policyStride        = 11               // of so many Namespaces, and of so many steps in each, a policy is tried with one
	randomTenantFor     = 20 * time.Second // if TENANT does not say otherwise
	squatters           = 3                // objects whose Works have the names of Karmada's own
)
