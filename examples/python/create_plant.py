"""Creates a plant over gRPC, and shows what a caller has to be ready for."""

import os
import random
import sys
import time
from urllib.parse import urlsplit

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from plantstore.v1 import plant_service_pb2 as pb
from plantstore.v1 import plant_service_pb2_grpc as pb_grpc

ATTEMPT_TIMEOUT_S = 2.0
TOTAL_TIMEOUT_S = 20.0
FIRST_BACKOFF_S = 0.1

MAY_PASS = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}


def main() -> None:
    with connect(os.environ["PLANT_STORE_URL"]) as channel:
        stub = pb_grpc.PlantServiceStub(channel)

        # Any int64 is an id: this one is not a double.
        basil = pb.NewPlant(id=9007199254740993, name="Basil", tag="herb")
        # The same call again is safe: it has the same answer, and there is one plant.
        for label in ("created", "again"):
            plant = create_plant(stub, basil)
            print(f"{label}: {plant.name} ({plant.tag})")

        mint = pb.NewPlant(id=basil.id, name="Mint", tag=basil.tag)
        error = error_of(stub, mint)
        assert error.code() is grpc.StatusCode.ALREADY_EXISTS, error
        print(f"taken: {error.details()}")

        nameless = pb.NewPlant(id=basil.id, tag=basil.tag)
        error = error_of(stub, nameless)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
        for violation in field_violations(error):
            print(f"refused: {violation.field} {violation.description}")


def connect(url: str) -> grpc.Channel:
    parts = urlsplit(url)
    if parts.scheme == "https":
        return grpc.secure_channel(parts.netloc, grpc.ssl_channel_credentials())
    return grpc.insecure_channel(parts.netloc)


def create_plant(stub: pb_grpc.PlantServiceStub, plant: pb.NewPlant) -> pb.Plant:
    """Creates a plant, and tries again while that may help.

    A lost answer leaves it open whether the plant was stored; the next attempt
    settles it.
    """
    request = pb.CreatePlantRequest(plant=plant)
    metadata = [("authorization", f"Bearer {os.environ['PLANT_STORE_TOKEN']}")]
    end = time.monotonic() + TOTAL_TIMEOUT_S
    backoff = FIRST_BACKOFF_S
    while True:
        # The server keeps the deadline, too.
        timeout = min(ATTEMPT_TIMEOUT_S, end - time.monotonic())
        try:
            return stub.CreatePlant(request, timeout=timeout, metadata=metadata).plant
        except grpc.RpcError as error:
            pause = random.uniform(0, backoff)
            if error.code() not in MAY_PASS or time.monotonic() + pause >= end:
                raise
            print(f"{error.code().name}, trying again in {pause:.3f} s", file=sys.stderr)
        time.sleep(pause)
        backoff *= 2


def error_of(stub: pb_grpc.PlantServiceStub, plant: pb.NewPlant) -> grpc.RpcError:
    try:
        answer = create_plant(stub, plant)
    except grpc.RpcError as error:
        return error
    raise AssertionError(f"no error, but {answer}")


def field_violations(error: grpc.RpcError):
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        bad_request = error_details_pb2.BadRequest()
        if detail.Unpack(bad_request):
            yield from bad_request.field_violations


if __name__ == "__main__":
    main()
