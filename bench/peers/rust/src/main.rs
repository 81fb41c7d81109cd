//! CreatePlant by axum (REST) and tonic (gRPC) on one port, durable in SQLite before the answer.
//! `plant-store-peer DATABASE`, with the token in `PEER_TOKEN`.

use axum::extract::{Json, Request, State, rejection::JsonRejection};
use axum::http::{StatusCode, header::AUTHORIZATION};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Router, middleware, routing::post};
use plantstore::v1::plant_service_server::{PlantService, PlantServiceServer};
use plantstore::v1::{CreatePlantRequest, CreatePlantResponse, NewPlant, Plant};
use serde::{Deserialize, Serialize};
use std::{env, error::Error};
use store::{Row, Store};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tonic::{Code, Status, service::Routes};

mod store;
mod plantstore {
    pub mod v1 {
        tonic::include_proto!("plantstore.v1");
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("give the path of a database")?;
    let token = format!("Bearer {}", env::var("PEER_TOKEN")?);
    let store = Store::open(&path)?;

    let authorization = token.clone();
    let grpc = PlantServiceServer::with_interceptor(
        Service(store.clone()),
        move |call: tonic::Request<()>| match call.metadata().get("authorization") {
            Some(value) if is_equal(value.as_bytes(), &authorization) => Ok(call),
            _ => Err(Status::unauthenticated("a valid bearer token is required")),
        },
    );
    let rest = Router::new()
        .route("/plants", post(create_plant))
        .route_layer(middleware::from_fn_with_state(token, require_token))
        .with_state(store);
    let app = Routes::new(grpc).into_axum_router().merge(rest);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listens on http://{} ", listener.local_addr()?);
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, app).await?;
    Ok(())
}

fn is_equal(value: &[u8], expected: &str) -> bool {
    value.ct_eq(expected.as_bytes()).into()
}

/// Validates and stores a plant, for both protocols.
async fn create(store: &Store, plant: NewPlant) -> Result<Plant, Status> {
    let missing = |field| Status::invalid_argument(format!("{field} is required"));
    let id = plant.id.ok_or_else(|| missing("id"))?;
    let name = plant.name.ok_or_else(|| missing("name"))?;
    let tag = plant.tag;
    if name.contains('\0') || tag.as_ref().is_some_and(|tag| tag.contains('\0')) {
        return Err(Status::invalid_argument("text must not contain U+0000"));
    }
    let Row { name, tag, .. } = store.create(Row { id, name, tag }).await?;
    Ok(Plant {
        name: Some(name),
        tag,
    })
}

struct Service(Store);

#[tonic::async_trait]
impl PlantService for Service {
    async fn create_plant(
        &self,
        request: tonic::Request<CreatePlantRequest>,
    ) -> Result<tonic::Response<CreatePlantResponse>, Status> {
        let plant = request.into_inner().plant;
        let plant = plant.ok_or_else(|| Status::invalid_argument("plant is required"))?;
        let plant = Some(create(&self.0, plant).await?);
        Ok(tonic::Response::new(CreatePlantResponse { plant }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPlantJson {
    id: Option<i64>,
    name: Option<String>,
    tag: Option<String>,
}

#[derive(Serialize)]
struct PlantJson {
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

#[derive(Serialize)]
struct ErrorJson {
    error: i32,
    message: String,
}

async fn create_plant(
    State(store): State<Store>,
    body: Result<Json<NewPlantJson>, JsonRejection>,
) -> Response {
    let Json(NewPlantJson { id, name, tag }) = match body {
        Ok(body) => body,
        Err(rejection) => {
            return error_response(
                rejection.status(),
                &Status::invalid_argument(rejection.body_text()),
            );
        }
    };
    match create(&store, NewPlant { id, name, tag }).await {
        Ok(Plant { name, tag }) => Json(PlantJson { name, tag }).into_response(),
        Err(status) => error_response(http_status(status.code()), &status),
    }
}

async fn require_token(
    State(token): State<String>,
    request: Request,
    next: middleware::Next,
) -> Response {
    match request.headers().get(AUTHORIZATION) {
        Some(value) if is_equal(value.as_bytes(), &token) => next.run(request).await,
        _ => error_response(
            StatusCode::UNAUTHORIZED,
            &Status::unauthenticated("a valid bearer token is required"),
        ),
    }
}

fn http_status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::AlreadyExists => StatusCode::BAD_REQUEST,
        Code::ResourceExhausted => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn error_response(http: StatusCode, status: &Status) -> Response {
    let error = status.code() as i32;
    let message = status.message().to_owned();
    (http, Json(ErrorJson { error, message })).into_response()
}
