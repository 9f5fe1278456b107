// Command deviceplugin gives the kubelet of its machine made-up devices: deviceplugin RESOURCE [PCI-ADDRESS=RDMA-DEVICE]...
//
// There is no card behind them. What is real of it: the kubelet's device plugin API, by which each device is a single one with an id, and
// the file that tells Multus of it, which sriov-network-device-plugin writes by the same function and of the same fields
// (pkg/netdevice/netResourcePool.go StoreDeviceInfoFile).
package main

import (
	"context"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"

	nad "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type plugin struct {
	v1beta1.UnimplementedDevicePluginServer
	devices []*v1beta1.Device
}

func (p *plugin) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (*v1beta1.DevicePluginOptions, error) {
	return &v1beta1.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *v1beta1.Empty, stream v1beta1.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&v1beta1.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *v1beta1.AllocateRequest) (*v1beta1.AllocateResponse, error) {
	answer := &v1beta1.AllocateResponse{}
	for range request.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &v1beta1.ContainerAllocateResponse{})
	}
	return answer, nil
}

func main() {
	if err := serve(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func serve(resource string, described []string) error {
	own := &plugin{}
	for _, each := range described {
		address, rdma, _ := strings.Cut(each, "=")
		info := &nad.DeviceInfo{
			Type:    nad.DeviceInfoTypePCI,
			Version: nad.DeviceInfoVersion,
			Pci:     &nad.PciDevice{PciAddress: address, RdmaDevice: rdma},
		}
		if err := utils.SaveDeviceInfoForDP(resource, address, info); err != nil {
			return err
		}
		own.devices = append(own.devices, &v1beta1.Device{ID: address, Health: v1beta1.Healthy})
	}
	socket := strings.ReplaceAll(resource, "/", "_") + ".sock"
	listener, err := net.Listen("unix", filepath.Join(v1beta1.DevicePluginPath, socket))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, own)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	if err := register(resource, socket); err != nil {
		return err
	}
	return <-ended
}

func register(resource, socket string) error {
	kubelet, err := grpc.NewClient("unix://"+v1beta1.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	request := &v1beta1.RegisterRequest{Version: v1beta1.Version, Endpoint: socket, ResourceName: resource}
	_, err = v1beta1.NewRegistrationClient(kubelet).Register(context.Background(), request)
	return err
}
