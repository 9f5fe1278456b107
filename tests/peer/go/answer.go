// Package main answers AdmissionReviews by network-resources-injector's own code: one on each line of standard input.
// It is copied into its source and built there.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/k8snetworkplumbingwg/network-resources-injector/pkg/controlswitches"
	"github.com/k8snetworkplumbingwg/network-resources-injector/pkg/userdefinedinjections"
	"github.com/k8snetworkplumbingwg/network-resources-injector/pkg/webhook"
)

type networks map[string]map[string]string

func (n networks) Start() {}
func (n networks) Stop()  {}
func (n networks) Get(namespace, name string) map[string]string {
	return n[namespace+"/"+name]
}

func main() {
	switches := controlswitches.SetupControlSwitchesFlags()
	known := flag.String("networks", "{}", "annotations of each network, as JSON")
	config := flag.String("config", "", "config.json of the ConfigMap")
	flag.Parse()
	switches.InitControlSwitches()
	webhook.SetControlSwitches(switches)
	cache := networks{}
	if err := json.Unmarshal([]byte(*known), &cache); err != nil {
		panic(err)
	}
	webhook.SetNetAttachDefCache(cache)
	injections := userdefinedinjections.CreateUserInjectionsStructure()
	if *config != "" {
		injections.SetUserDefinedInjections(&corev1.ConfigMap{Data: map[string]string{"config.json": *config}})
	}
	webhook.SetUserInjectionStructure(injections)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		request := httptest.NewRequest(http.MethodPost, "/mutate", strings.NewReader(lines.Text()))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		webhook.MutateHandler(answer, request)
		fmt.Println(strings.TrimSpace(answer.Body.String()))
	}
}
