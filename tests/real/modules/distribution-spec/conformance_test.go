// Package conformance keeps what the program is built from in go.mod and go.sum.
package conformance

import _ "github.com/opencontainers/distribution-spec/conformance"
