module fabric-injector/tests/apiserver/tools/kindconfig

go 1.26.0

require (
	gopkg.in/yaml.v3 v3.0.1
	sigs.k8s.io/kind v0.33.0
)

require github.com/pkg/errors v0.9.1 // indirect
