"""The catalog on grpcio, in memory, with health and reflection. It knows nothing of REST."""

from concurrent.futures import ThreadPoolExecutor

import grpc
from google.api.httpbody_pb2 import HttpBody
from google.protobuf.empty_pb2 import Empty
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from library.v1 import catalog_pb2, catalog_pb2_grpc
from library.v1.catalog_pb2 import ImportVolumesResponse, ListVolumesResponse, Volume

PIECE_BYTES = 1024


class Catalog(catalog_pb2_grpc.CatalogServiceServicer):
    def __init__(self):
        self.volumes = {}
        self.texts = {}

    def find(self, name, context):
        if name not in self.volumes:
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no {name}")
        return self.volumes[name]

    def add(self, parent, given):
        name = f"{parent}/volumes/{given.id}"
        self.volumes[name] = Volume(name=name, id=given.id, title=given.title)
        return self.volumes[name]

    def of(self, request):
        shelf = [v for v in self.volumes.values() if v.name.startswith(f"{request.parent}/")]
        asked = [v for v in shelf if not request.titles or v.title in request.titles]
        return asked[: request.page_size or None]

    def GetVolume(self, request, context):
        if request.name:
            return self.find(request.name, context)
        found = [v for v in self.volumes.values() if v.id == request.id]
        return found[0] if found else self.find(f"volume {request.id}", context)

    def ListVolumes(self, request, context):
        return ListVolumesResponse(volumes=self.of(request))

    def CreateVolume(self, request, context):
        return self.add(request.parent, request.volume)

    def UpdateVolume(self, request, context):
        volume = self.find(request.volume.name, context)
        if "title" in request.update_mask.paths:
            volume.title = request.volume.title
        return volume

    def DeleteVolume(self, request, context):
        del self.volumes[self.find(request.name, context).name]
        return Empty()

    def MoveVolume(self, request, context):
        volume = self.find(request.name, context)
        del self.volumes[request.name]
        return self.add(request.to, volume)

    def DownloadVolume(self, request, context):
        return self.texts.get(self.find(request.name, context).name, HttpBody())

    def UploadVolume(self, request, context):
        self.texts[request.name] = request.content
        return self.find(request.name, context)

    def WatchVolumes(self, request, context):
        yield from self.of(request)

    def ImportVolumes(self, requests, context):
        count = 0
        for request in requests:
            self.add(request.parent, request.volume)
            count += 1
        return ImportVolumesResponse(count=count)

    def StreamVolume(self, request, context):
        text = self.DownloadVolume(request, context)
        for at in range(0, len(text.data), PIECE_BYTES):
            yield HttpBody(content_type=text.content_type, data=text.data[at : at + PIECE_BYTES])

    def AppendVolume(self, requests, context):
        whole = HttpBody()
        for request in requests:
            name, whole.content_type = request.name, request.content.content_type
            whole.data += request.content.data
        self.texts[name] = whole
        return self.find(name, context)

    def ReadFile(self, request, context):
        return request


server = grpc.server(ThreadPoolExecutor())
catalog_pb2_grpc.add_CatalogServiceServicer_to_server(Catalog(), server)
checks = health.HealthServicer()
checks.set("", health_pb2.HealthCheckResponse.SERVING)
health_pb2_grpc.add_HealthServicer_to_server(checks, server)
service = catalog_pb2.DESCRIPTOR.services_by_name["CatalogService"].full_name
reflection.enable_server_reflection([service, reflection.SERVICE_NAME], server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(f"listening on {port}", flush=True)
server.wait_for_termination()
