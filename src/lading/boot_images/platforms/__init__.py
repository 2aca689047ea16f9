"""The platforms, by the kind of the provider spec or template that names one. Pure."""

from collections.abc import Mapping

from lading.boot_images.platforms import aws, azure, gcp, manual
from lading.boot_images.platforms.types import CloudPlatform

BY_PROVIDER_SPEC: Mapping[str, CloudPlatform] = {
    "GCPMachineProviderSpec": gcp,
    "AWSMachineProviderConfig": aws,
    "AzureMachineProviderSpec": azure,
    "VSphereMachineProviderSpec": manual.VSPHERE,
    "OpenstackProviderSpec": manual.OPENSTACK,
    "NutanixMachineProviderConfig": manual.NUTANIX,
    "PowerVSMachineProviderConfig": manual.POWERVS,
    "BareMetalMachineProviderSpec": manual.BARE_METAL,
}
BY_MACHINE: Mapping[str, CloudPlatform] = {
    "GCPMachine": gcp,
    "AWSMachine": aws,
    "AzureMachine": azure,
}
"""Machines of Cluster API hold the image at the same path as their template."""
BY_TEMPLATE: Mapping[str, CloudPlatform] = {
    "GCPMachineTemplate": gcp,
    "AWSMachineTemplate": aws,
    "AzureMachineTemplate": azure,
    "VSphereMachineTemplate": manual.VSPHERE,
    "OpenStackMachineTemplate": manual.OPENSTACK,
    "NutanixMachineTemplate": manual.NUTANIX,
    "IBMPowerVSMachineTemplate": manual.POWERVS,
    "Metal3MachineTemplate": manual.BARE_METAL,
}
