// Command load sends one AdmissionReview again and again, over connections like those of the Kubernetes
// API server: HTTP/1.1, at most 25 of them idle, each for 90 s. It prints one line of JSON.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"sync"
	"time"
)

// workers is how many requests are sent at a time.
const workers = 8

type result struct {
	Requests  int     `json:"requests"`
	Errors    int     `json:"errors"`
	FirstFail string  `json:"firstFail"`
	Seconds   float64 `json:"seconds"`
	P50       float64 `json:"p50Milliseconds"`
	P99       float64 `json:"p99Milliseconds"`
}

type worker struct {
	latencies []time.Duration
	errors    int
	firstFail string
}

func main() {
	url := flag.String("url", "", "where to post")
	authority := flag.String("ca", "", "file of the servers' CAs")
	body := flag.String("body", "", "file to post")
	seconds := flag.Float64("seconds", 3, "how long")
	rate := flag.Float64("rate", 0, "requests a second, sent whether or not answers have come; 0: as fast as answers come")
	flag.Parse()

	review, err := os.ReadFile(*body)
	fail(err)
	pem, err := os.ReadFile(*authority)
	fail(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client := &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: pool, NextProtos: []string{"http/1.1"}},
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxIdleConnsPerHost: 25,
			IdleConnTimeout:     90 * time.Second,
		},
	}
	post := func() string {
		request, err := http.NewRequest(http.MethodPost, *url, bytes.NewReader(review))
		fail(err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, */*")
		request.Header.Set("User-Agent", "kube-apiserver-admission")
		response, err := client.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
			return fmt.Sprintf("%d %.200s", response.StatusCode, answer)
		}
		return ""
	}

	all := make([]worker, workers)
	var group sync.WaitGroup
	for range all {
		group.Add(1)
		go func() { defer group.Done(); post() }() // handshakes are not measured
	}
	group.Wait()

	begin := time.Now()
	end := begin.Add(time.Duration(*seconds * float64(time.Second)))
	for n := range all {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			one := &all[n]
			for turn := n; ; turn += workers {
				due := time.Now()
				if *rate > 0 {
					due = begin.Add(time.Duration(float64(turn) / *rate * float64(time.Second)))
				}
				if due.After(end) {
					return
				}
				time.Sleep(time.Until(due))
				if failure := post(); failure != "" {
					one.errors++
					one.firstFail = failure
				}
				one.latencies = append(one.latencies, time.Since(due)) // from when it was due, so that queueing counts
			}
		}(n)
	}
	group.Wait()

	var sum result
	var latencies []time.Duration
	for _, one := range all {
		latencies = append(latencies, one.latencies...)
		sum.Errors += one.errors
		if one.firstFail != "" {
			sum.FirstFail = one.firstFail
		}
	}
	sort.Slice(latencies, func(i, j int) bool { return latencies[i] < latencies[j] })
	sum.Requests = len(latencies)
	sum.Seconds = time.Since(begin).Seconds()
	sum.P50 = float64(latencies[len(latencies)/2].Microseconds()) / 1000
	sum.P99 = float64(latencies[len(latencies)*99/100].Microseconds()) / 1000
	fail(json.NewEncoder(os.Stdout).Encode(sum))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
