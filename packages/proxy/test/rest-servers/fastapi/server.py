"""A REST API that knows nothing of protobuf: `uvicorn server:app`."""

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

app = FastAPI()
volumes = {}


class Volume(BaseModel):
    name: str = ""
    id: int
    title: str = ""


@app.head("/")
def alive():
    return None


@app.post("/v1/shelves/{shelf}/volumes", status_code=201)
def create_volume(shelf: str, volume: Volume) -> Volume:
    volume.name = f"shelves/{shelf}/volumes/{volume.id}"
    if volume.name in volumes:
        raise HTTPException(409, f"{volume.name} exists")
    volumes[volume.name] = volume
    return volume


@app.get("/v1/shelves/{shelf}/volumes/{number}")
def get_volume(shelf: str, number: int) -> Volume:
    name = f"shelves/{shelf}/volumes/{number}"
    if name not in volumes:
        raise HTTPException(404, f"{name} is not here")
    return volumes[name]


@app.get("/v1/shelves/{shelf}/volumes")
def list_volumes(shelf: str, pageSize: int = 10):
    own = [one for one in volumes.values() if one.name.startswith(f"shelves/{shelf}/")]
    return {"volumes": own[:pageSize]}
