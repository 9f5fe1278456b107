// Command definition judges a CustomResourceDefinition as the API server of the Kubernetes does that go.mod names: with the cost of its
// rules, which later versions estimate lower. It prints every fault, and ends with 1 where there is one.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	faults, err := judge(os.Args[1])
	if err != nil {
		faults = append(faults, err)
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

func judge(file string) ([]error, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var definition v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &definition); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	scheme.Default(&definition)
	var internal apiextensions.CustomResourceDefinition
	if err := scheme.Convert(&definition, &internal, nil); err != nil {
		return nil, err
	}
	for _, version := range internal.Spec.Versions { // as the API server fills in before it judges
		if version.Storage {
			internal.Status.StoredVersions = []string{version.Name}
		}
	}
	var faults []error
	for _, fault := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		faults = append(faults, fault)
	}
	return faults, nil
}
