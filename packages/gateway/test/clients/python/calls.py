"""Calls every operation of the catalog: `python calls.py ORIGIN`. Writes the name of each that answered well."""

import json
import sys

from catalog import Client
from catalog.api.catalog_service import (
    create_volume,
    delete_volume,
    download_volume,
    get_volume,
    get_volume_2,
    import_volumes,
    list_volumes,
    move_volume,
    read_file,
    stream_volume,
    update_volume,
    watch_volumes,
)
from catalog.models import MoveVolumeBody, UpdateVolumeBody, UpdateVolumeBodyPatch, VolumeInput
from catalog.types import UNSET

client = Client(base_url=sys.argv[1])
BIG = 9007199254740993
ID = str(BIG)
TEXT = bytes([0, 255, 10, 13])
EMMA = {"name": f"shelves/a/volumes/{BIG}", "id": ID, "title": "Emma"}


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def create():
    volume = create_volume.sync("a", client=client, body=VolumeInput(id=BIG, title="Emma"))
    equal(volume.to_dict(), EMMA)
    # A body that may be absent is the empty message.
    equal(create_volume.sync("z", client=client).name, "shelves/z/volumes/0")


def get():
    equal(get_volume.sync("a", ID, client=client).to_dict(), EMMA)
    answer = get_volume.sync_detailed("a", "none", client=client)
    equal(answer.status_code, 404)
    status = {"code": 5, "message": "there is no shelves/a/volumes/none", "details": []}
    equal(answer.parsed.to_dict(), status)


def get_by_id():
    equal(get_volume_2.sync(ID, client=client).to_dict(), EMMA)


def list_all():
    answer = list_volumes.sync("a", client=client, page_size=5, titles=["Emma", "Walden"])
    equal(answer.to_dict(), {"volumes": [EMMA]})
    error = list_volumes.sync("a", client=client, page_size=2**31)
    equal(error.to_dict()["details"][0]["@type"], "type.googleapis.com/google.rpc.BadRequest")


def update():
    body = UpdateVolumeBody(title="Emma, 1")
    equal(update_volume.sync("a", ID, client=client, body=body).title, "Emma, 1")
    patch = UpdateVolumeBodyPatch(title=None)
    equal(update_volume.sync("a", ID, client=client, body=patch).title, UNSET)
    body = UpdateVolumeBody(id=BIG, title="Emma")
    answer = update_volume.sync("a", ID, client=client, body=body, update_mask="title")
    equal(answer.to_dict(), EMMA)


def send(method, verb, shelf, content, content_type):
    """What the generator leaves out, a body of any type or of NDJSON, by the client's own httpx."""
    url = f"/v1/shelves/{shelf}:{verb}"
    headers = {"Content-Type": content_type}
    answer = client.get_httpx_client().request(method, url, content=content, headers=headers)
    equal(answer.status_code, 200)
    return answer.json()


def upload():
    equal(send("PUT", "upload", f"a/volumes/{BIG}", TEXT, "text/x-novel"), EMMA)


def read_bytes(operation):
    """An answer of any type has no model, and is parsed as an error: only the request is generated."""
    return client.get_httpx_client().request(**operation._get_kwargs("a", ID))


def download():
    answer = read_bytes(download_volume)
    equal(answer.content, TEXT)
    equal(answer.headers["content-type"], "text/x-novel")


def append():
    equal(send("POST", "append", f"a/volumes/{BIG}", TEXT, "text/x-novel"), EMMA)


def stream():
    equal(read_bytes(stream_volume).content, TEXT)


def import_all():
    body = [VolumeInput(id=1, title="Walden"), VolumeInput(id=BIG, title="Dune")]
    equal(import_volumes.sync("b", client=client, body=body).count, "2")
    line = json.dumps({"id": 3, "title": "Ulysses"}) + "\n"
    equal(send("POST", "import", "b/volumes", line, "application/x-ndjson"), {"count": "1"})


def watch():
    # The client reads the array alone, and asks for no form: the Accept is the caller's to set.
    reader = Client(base_url=sys.argv[1], headers={"Accept": "application/json"})
    array = watch_volumes.sync("b", client=reader)
    equal([volume.id for volume in array], ["1", ID, "3"])
    with client.get_httpx_client().stream(**watch_volumes._get_kwargs("b")) as lines:
        equal([json.loads(line)["id"] for line in lines.iter_lines()], ["1", ID, "3"])


def move():
    volume = move_volume.sync("a", ID, client=client, body=MoveVolumeBody(to="shelves/c"))
    equal(volume.to_dict(), {**EMMA, "name": f"shelves/c/volumes/{BIG}"})


def delete():
    answer = delete_volume.sync_detailed("c", ID, client=client)
    equal((answer.status_code, answer.parsed.to_dict()), (200, {}))


def read():
    equal(read_file.sync("a b.txt", client=client).path, "a b.txt")


CALLS = {
    "CreateVolume": create,
    "GetVolume": get,
    "GetVolume2": get_by_id,
    "ListVolumes": list_all,
    "UpdateVolume": update,
    "UploadVolume": upload,
    "DownloadVolume": download,
    "AppendVolume": append,
    "StreamVolume": stream,
    "ImportVolumes": import_all,
    "WatchVolumes": watch,
    "MoveVolume": move,
    "DeleteVolume": delete,
    "ReadFile": read,
}

for name, call in CALLS.items():
    try:
        call()
        print(f"passed {name}")
    except Exception as error:  # each is told, whatever it is
        print(f"failed {name}: {error!r}")
