"""Opens the clouds that an administrator lets Lading ask."""

from pathlib import Path

from lading.boot_images.types import CloudAccess
from lading.ports.ec2 import Ec2Error


def cloud_access(*, ask_aws: bool, aws_credentials_file: Path | None) -> CloudAccess:
    """Without an option, Lading sends no request to a cloud."""
    if not ask_aws and aws_credentials_file is None:
        return CloudAccess()
    try:
        from lading.adapters.ec2 import Ec2Client  # botocore is an optional package
    except ModuleNotFoundError:
        raise Ec2Error(
            "requests to EC2 need the package botocore; install lading[aws], or use the image of"
            " Lading, which has it"
        ) from None
    return CloudAccess(ec2=Ec2Client(aws_credentials_file))
