"""Calls every operation of the catalog: `python calls.py ORIGIN`. Writes the name of each that answered well."""

import io
import json
import sys

from catalog import Client
from catalog.api.book_service import book_service_get_book as get_book
from catalog.api.book_service import book_service_update_book as update_book
from catalog.api.book_service import book_service_update_book_2 as update_book_2
from catalog.api.catalog_service import (
    catalog_service_append_volume as append_volume,
    catalog_service_create_volume as create_volume,
    catalog_service_delete_volume as delete_volume,
    catalog_service_download_volume as download_volume,
    catalog_service_get_volume as get_volume,
    catalog_service_get_volume_2 as get_volume_2,
    catalog_service_import_volumes as import_volumes,
    catalog_service_list_volumes as list_volumes,
    catalog_service_move_volume as move_volume,
    catalog_service_read_file as read_file,
    catalog_service_read_file_2 as read_file_2,
    catalog_service_read_file_3 as read_file_3,
    catalog_service_read_file_4 as read_file_4,
    catalog_service_stream_volume as stream_volume,
    catalog_service_update_volume as update_volume,
    catalog_service_upload_volume as upload_volume,
    catalog_service_watch_volumes as watch_volumes,
)
from catalog.models import (
    BookPatch,
    BookServiceUpdateBookBody,
    CatalogServiceMoveVolumeBody,
    CatalogServiceUpdateVolumeBody,
    UpdateBookRequest,
    VolumeInput,
)
from catalog.types import UNSET, File

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
    body = CatalogServiceUpdateVolumeBody(title="Emma, 1")
    equal(update_volume.sync("a", ID, client=client, body=body).title, "Emma, 1")
    patch = CatalogServiceUpdateVolumeBody(title=None)
    equal(update_volume.sync("a", ID, client=client, body=patch).title, UNSET)
    body = CatalogServiceUpdateVolumeBody(id=BIG, title="Emma")
    answer = update_volume.sync("a", ID, client=client, body=body, update_mask="title")
    equal(answer.to_dict(), EMMA)


def content():
    return File(payload=io.BytesIO(TEXT))


def upload():
    equal(upload_volume.sync("a", ID, client=client, body=content()).to_dict(), EMMA)


def download():
    answer = download_volume.sync_detailed("a", ID, client=client)
    equal(answer.content, TEXT)
    equal(answer.headers["content-type"], "application/octet-stream")


def append():
    equal(append_volume.sync("a", ID, client=client, body=content()).to_dict(), EMMA)


def stream():
    equal(stream_volume.sync("a", ID, client=client).payload.read(), TEXT)


def send_lines(shelf, content):
    """What the generator leaves out, a body of NDJSON, by the client's own httpx."""
    url = f"/v1/shelves/{shelf}/volumes:import"
    headers = {"Content-Type": "application/x-ndjson"}
    answer = client.get_httpx_client().post(url, content=content, headers=headers)
    equal(answer.status_code, 200)
    return answer.json()


def import_all():
    body = [VolumeInput(id=1, title="Walden"), VolumeInput(id=BIG, title="Dune")]
    equal(import_volumes.sync("b", client=client, body=body).count, "2")
    line = json.dumps({"id": 3, "title": "Ulysses"}) + "\n"
    equal(send_lines("b", line), {"count": "1"})


def watch():
    # The client reads the array alone, and asks for no form: the Accept is the caller's to set.
    reader = Client(base_url=sys.argv[1], headers={"Accept": "application/json"})
    array = watch_volumes.sync("b", client=reader)
    equal([volume.id for volume in array], ["1", ID, "3"])
    with client.get_httpx_client().stream(**watch_volumes._get_kwargs("b")) as lines:
        equal([json.loads(line)["id"] for line in lines.iter_lines()], ["1", ID, "3"])


def move():
    volume = move_volume.sync("a", ID, client=client, body=CatalogServiceMoveVolumeBody(to="shelves/c"))
    equal(volume.to_dict(), {**EMMA, "name": f"shelves/c/volumes/{BIG}"})


def delete():
    answer = delete_volume.sync_detailed("c", ID, client=client)
    equal((answer.status_code, answer.parsed.to_dict()), (200, {}))


def read():
    equal(read_file.sync("a b.txt", client=client).path, "a b.txt")


def read_2():
    equal(read_file_2.sync("a", "b.txt", client=client).path, "a/b.txt")


def read_3():
    equal(read_file_3.sync("a", "b", "c", client=client).path, "a/b/c")


def read_4():
    equal(read_file_4.sync("a", "b", "c", "d", client=client).path, "a/b/c/d")


def get_one_book():
    equal(get_book.sync("a", "1", client=client).title, "Emma")


def patch_book():
    before = get_book.sync("a", "1", client=client).to_dict()
    body = BookServiceUpdateBookBody(title="Persuasion")
    after = update_book.sync("a", "1", client=client, body=body)
    equal(after.to_dict(), {**before, "title": "Persuasion"})  # and nothing else


def patch_book_by_mask():
    body = UpdateBookRequest(book=BookPatch(title="Emma"), update_mask="title")
    equal(update_book_2.sync(client=client, body=body).title, "Emma")


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
    "ReadFile_2": read_2,
    "ReadFile_3": read_3,
    "ReadFile_4": read_4,
    "GetBook": get_one_book,
    "UpdateBook2": patch_book_by_mask,
    "UpdateBook": patch_book,
}

for name, call in CALLS.items():
    try:
        call()
        print(f"passed {name}")
    except Exception as error:  # each is told, whatever it is
        print(f"failed {name}: {error!r}")
