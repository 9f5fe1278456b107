// Reads a configuration of kind from standard input by kind's own types, and says which field they do not know.
package main

import (
	"fmt"
	"io"
	"os"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

func main() {
	if err := read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(input io.Reader) error {
	decoder := yaml.NewDecoder(input)
	decoder.KnownFields(true)
	var cluster v1alpha4.Cluster
	return decoder.Decode(&cluster)
}
