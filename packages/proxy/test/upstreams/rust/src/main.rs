//! The catalog on tonic, in memory, with health and reflection. It knows nothing of REST.

use protos::google::api::HttpBody;
use protos::library::v1::catalog_service_server::{CatalogService, CatalogServiceServer};
use protos::library::v1::*;
use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, MutexGuard};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

mod protos {
    tonic::include_proto!("protos");
}

const PIECE_BYTES: usize = 1024;

type Answer<T> = Result<Response<T>, Status>;
type Pieces<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

#[derive(Default)]
struct State {
    volumes: Vec<Volume>,
    texts: HashMap<String, HttpBody>,
}

#[derive(Default)]
struct Catalog(Mutex<State>);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health
        .set_serving::<CatalogServiceServer<Catalog>>()
        .await;
    let descriptors = include_bytes!("../catalog.binpb");
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(descriptors)
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?.port());
    Server::builder()
        .add_service(CatalogServiceServer::new(Catalog::default()))
        .add_service(health_service)
        .add_service(builder().build_v1()?)
        .add_service(builder().build_v1alpha()?)
        .serve_with_incoming(TcpListenerStream::new(listener))
        .await?;
    Ok(())
}

impl State {
    fn find(&mut self, name: &str) -> Result<&mut Volume, Status> {
        let found = self.volumes.iter_mut().find(|volume| volume.name == name);
        found.ok_or_else(|| Status::not_found(format!("there is no {name}")))
    }

    fn add(&mut self, parent: &str, given: Volume) -> Volume {
        let name = format!("{parent}/volumes/{}", given.id);
        let volume = Volume { name: name.clone(), ..given };
        match self.find(&name) {
            Ok(known) => *known = volume.clone(),
            Err(_) => self.volumes.push(volume.clone()),
        }
        volume
    }

    fn remove(&mut self, name: &str) -> Result<Volume, Status> {
        let volume = self.find(name)?.clone();
        self.volumes.retain(|one| one.name != name);
        Ok(volume)
    }

    fn list(&self, asked: &ListVolumesRequest) -> Vec<Volume> {
        let prefix = format!("{}/", asked.parent);
        let max = if asked.page_size == 0 { usize::MAX } else { asked.page_size as usize };
        self.volumes
            .iter()
            .filter(|volume| volume.name.starts_with(&prefix))
            .filter(|volume| asked.titles.is_empty() || asked.titles.contains(&volume.title))
            .take(max)
            .cloned()
            .collect()
    }

    fn text(&mut self, name: &str) -> Result<HttpBody, Status> {
        self.find(name)?;
        Ok(self.texts.get(name).cloned().unwrap_or_default())
    }

    fn keep(&mut self, name: &str, text: HttpBody) -> Answer<Volume> {
        self.texts.insert(name.to_string(), text);
        Ok(Response::new(self.find(name)?.clone()))
    }
}

impl Catalog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no call panics")
    }
}

#[tonic::async_trait]
impl CatalogService for Catalog {
    type WatchVolumesStream = Pieces<Volume>;
    type StreamVolumeStream = Pieces<HttpBody>;

    async fn get_volume(&self, request: Request<GetVolumeRequest>) -> Answer<Volume> {
        let GetVolumeRequest { name, id } = request.into_inner();
        let mut state = self.state();
        let by_id = state.volumes.iter().find(|volume| volume.id == id).cloned();
        match by_id {
            Some(volume) if name.is_empty() => Ok(Response::new(volume)),
            None if name.is_empty() => Err(Status::not_found(format!("there is no volume {id}"))),
            _ => Ok(Response::new(state.find(&name)?.clone())),
        }
    }

    async fn list_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Answer<ListVolumesResponse> {
        let volumes = self.state().list(request.get_ref());
        Ok(Response::new(ListVolumesResponse { volumes }))
    }

    async fn create_volume(&self, request: Request<CreateVolumeRequest>) -> Answer<Volume> {
        let CreateVolumeRequest { parent, volume, .. } = request.into_inner();
        Ok(Response::new(self.state().add(&parent, volume.unwrap_or_default())))
    }

    async fn update_volume(&self, request: Request<UpdateVolumeRequest>) -> Answer<Volume> {
        let UpdateVolumeRequest { volume, update_mask } = request.into_inner();
        let given = volume.unwrap_or_default();
        let mut state = self.state();
        let found = state.find(&given.name)?;
        if update_mask.unwrap_or_default().paths.contains(&"title".to_string()) {
            found.title = given.title;
        }
        Ok(Response::new(found.clone()))
    }

    async fn delete_volume(&self, request: Request<DeleteVolumeRequest>) -> Answer<()> {
        self.state().remove(&request.get_ref().name)?;
        Ok(Response::new(()))
    }

    async fn move_volume(&self, request: Request<MoveVolumeRequest>) -> Answer<Volume> {
        let MoveVolumeRequest { name, to } = request.into_inner();
        let mut state = self.state();
        let volume = state.remove(&name)?;
        Ok(Response::new(state.add(&to, volume)))
    }

    async fn download_volume(&self, request: Request<GetVolumeRequest>) -> Answer<HttpBody> {
        Ok(Response::new(self.state().text(&request.get_ref().name)?))
    }

    async fn upload_volume(&self, request: Request<UploadVolumeRequest>) -> Answer<Volume> {
        let UploadVolumeRequest { name, content } = request.into_inner();
        self.state().keep(&name, content.unwrap_or_default())
    }

    async fn watch_volumes(
        &self,
        request: Request<ListVolumesRequest>,
    ) -> Answer<Self::WatchVolumesStream> {
        let volumes = self.state().list(request.get_ref());
        let answers: Vec<_> = volumes.into_iter().map(Ok).collect();
        Ok(Response::new(tokio_stream::iter(answers)))
    }

    async fn import_volumes(
        &self,
        request: Request<Streaming<CreateVolumeRequest>>,
    ) -> Answer<ImportVolumesResponse> {
        let mut requests = request.into_inner();
        let mut count = 0;
        while let Some(CreateVolumeRequest { parent, volume, .. }) = requests.message().await? {
            self.state().add(&parent, volume.unwrap_or_default());
            count += 1;
        }
        Ok(Response::new(ImportVolumesResponse { count }))
    }

    async fn stream_volume(
        &self,
        request: Request<GetVolumeRequest>,
    ) -> Answer<Self::StreamVolumeStream> {
        let text = self.state().text(&request.get_ref().name)?;
        let piece = |data: &[u8]| HttpBody { data: data.to_vec(), ..text.clone() };
        let answers: Vec<_> = text.data.chunks(PIECE_BYTES).map(|data| Ok(piece(data))).collect();
        Ok(Response::new(tokio_stream::iter(answers)))
    }

    async fn append_volume(
        &self,
        request: Request<Streaming<UploadVolumeRequest>>,
    ) -> Answer<Volume> {
        let mut requests = request.into_inner();
        let mut whole = UploadVolumeRequest::default();
        while let Some(UploadVolumeRequest { name, content }) = requests.message().await? {
            let given = content.unwrap_or_default();
            let text = whole.content.get_or_insert_default();
            text.content_type = given.content_type;
            text.data.extend(given.data);
            whole.name = name;
        }
        self.state().keep(&whole.name, whole.content.unwrap_or_default())
    }

    async fn read_file(&self, request: Request<ReadFileRequest>) -> Answer<ReadFileRequest> {
        Ok(Response::new(request.into_inner()))
    }
}
