package util

// What a container would print, worked out from the pod as the API server holds it: no kubelet runs it here.
// Source: k8s.io/kubernetes pkg/volume/downwardapi, pkg/fieldpath, pkg/api/v1/resource ExtractContainerResourceValue.

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
)

var errExit = errors.New("command terminated with exit code 1")

// ExecuteCommand answers printenv, ls FOLDER and cat FILE.
func ExecuteCommand(core coreclient.CoreV1Interface, _ *restclient.Config, podName, ns, containerName, command string) (string, string, error) {
	pod, err := core.Pods(ns).Get(context.Background(), podName, metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	container := containerOf(pod, containerName)
	words := strings.Fields(command)
	if words[0] == "printenv" {
		lines := []string{"HOSTNAME=" + pod.Name}
		for _, env := range container.Env {
			lines = append(lines, env.Name+"="+env.Value)
		}
		return strings.Join(lines, "\n"), "", nil
	}
	folder := words[1]
	if words[0] == "cat" {
		folder = path.Dir(words[1])
	}
	files := filesAt(pod, container, folder)
	if files == nil {
		return "", "", errExit
	}
	if words[0] == "ls" {
		names := make([]string, 0, len(files))
		for name := range files {
			names = append(names, name)
		}
		sort.Strings(names)
		return strings.Join(names, "\n"), "", nil
	}
	content, found := files[path.Base(words[1])]
	if !found {
		return "", "", errExit
	}
	return content, "", nil
}

func containerOf(pod *corev1.Pod, name string) corev1.Container {
	for _, container := range pod.Spec.Containers {
		if container.Name == name {
			return container
		}
	}
	return corev1.Container{}
}

func filesAt(pod *corev1.Pod, container corev1.Container, folder string) map[string]string {
	for _, mount := range container.VolumeMounts {
		for _, volume := range pod.Spec.Volumes {
			if mount.MountPath != folder || volume.Name != mount.Name || volume.DownwardAPI == nil {
				continue
			}
			files := map[string]string{}
			for _, item := range volume.DownwardAPI.Items {
				files[item.Path] = contentOf(pod, item)
			}
			return files
		}
	}
	return nil
}

func contentOf(pod *corev1.Pod, item corev1.DownwardAPIVolumeFile) string {
	if item.FieldRef != nil {
		switch item.FieldRef.FieldPath {
		case "metadata.namespace":
			return pod.Namespace
		case "metadata.labels":
			return fmt.Sprint(pod.Labels)
		case "metadata.annotations":
			return fmt.Sprint(pod.Annotations)
		}
		return ""
	}
	reference := item.ResourceFieldRef
	kind, name, _ := strings.Cut(reference.Resource, ".")
	resources := containerOf(pod, reference.ContainerName).Resources
	held := resources.Requests
	if kind == "limits" {
		held = resources.Limits
	}
	quantity := held[corev1.ResourceName(name)]
	divisor := reference.Divisor.Value()
	return fmt.Sprint((quantity.Value() + divisor - 1) / divisor)
}
