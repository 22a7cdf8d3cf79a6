package main

import "slices"

// ofMirror are mutants of the controller and the packages beneath it.
var ofMirror = slices.Concat(ofEnqueue, ofSync, ofPurge, ofGather, ofDecide, ofPlan, ofSource, ofState, ofBreaker, ofLedger, ofWriter)
