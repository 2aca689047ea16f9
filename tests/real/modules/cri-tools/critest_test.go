// Package critest keeps the packages that critest's own test file imports in go.mod and go.sum.
package critest

import (
	_ "sigs.k8s.io/cri-tools/pkg/benchmark"
	_ "sigs.k8s.io/cri-tools/pkg/validate"
)
