//! Creates a plant over gRPC, and shows what a caller has to be ready for.

use plantstore::v1::{
    CreatePlantRequest, NewPlant, Plant, plant_service_client::PlantServiceClient,
};
use std::{env, error::Error, time::Duration};
use tokio::time::{Instant, sleep, timeout};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

mod plantstore {
    pub mod v1 {
        tonic::include_proto!("plantstore.v1");
    }
}

const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(20);
const FIRST_BACKOFF: Duration = Duration::from_millis(100);

struct PlantStore {
    client: PlantServiceClient<Channel>,
    authorization: MetadataValue<Ascii>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("PLANT_STORE_URL")?;
    let mut endpoint = Endpoint::from_shared(url.clone())?;
    if url.starts_with("https:") {
        endpoint = endpoint.tls_config(ClientTlsConfig::new().with_enabled_roots())?;
    }
    let mut store = PlantStore {
        client: PlantServiceClient::new(endpoint.connect_lazy()),
        authorization: format!("Bearer {}", env::var("PLANT_STORE_TOKEN")?).parse()?,
    };

    let basil = NewPlant {
        id: Some(9007199254740993), // Any int64: this one is not a double.
        name: Some("Basil".into()),
        tag: Some("herb".into()),
    };
    println!("created: {}", show(&store.create(&basil).await?));
    // The same call again is safe: it has the same answer, and there is one plant.
    println!("again: {}", show(&store.create(&basil).await?));

    let mint = NewPlant {
        name: Some("Mint".into()),
        ..basil.clone()
    };
    match store.create(&mint).await {
        Err(status) if status.code() == Code::AlreadyExists => {
            println!("taken: {}", status.message());
        }
        outcome => return Err(format!("an id was used twice: {outcome:?}").into()),
    }

    let nameless = NewPlant {
        name: None,
        ..basil
    };
    match store.create(&nameless).await {
        Err(status) if status.code() == Code::InvalidArgument => {
            let details = status.get_details_bad_request().into_iter();
            for violation in details.flat_map(|details| details.field_violations) {
                println!("refused: {} {}", violation.field, violation.description);
            }
        }
        outcome => return Err(format!("a plant without a name: {outcome:?}").into()),
    }
    Ok(())
}

impl PlantStore {
    /// Creates a plant, and tries again while that may help. A lost answer leaves
    /// it open whether the plant was stored; the next attempt settles it.
    async fn create(&mut self, plant: &NewPlant) -> Result<Plant, Status> {
        let end = Instant::now() + TOTAL_TIMEOUT;
        let mut backoff = FIRST_BACKOFF;
        loop {
            let left = end - Instant::now();
            let status = match self.attempt(plant, ATTEMPT_TIMEOUT.min(left)).await {
                Err(status) if may_pass(&status) => status,
                outcome => return outcome,
            };
            let pause = backoff.mul_f64(fastrand::f64());
            if Instant::now() + pause >= end {
                return Err(status);
            }
            eprintln!("{:?}, trying again in {pause:?}", status.code());
            sleep(pause).await;
            backoff *= 2;
        }
    }

    async fn attempt(&mut self, plant: &NewPlant, deadline: Duration) -> Result<Plant, Status> {
        let mut request = Request::new(CreatePlantRequest {
            plant: Some(plant.clone()),
        });
        request
            .metadata_mut()
            .insert("authorization", self.authorization.clone());
        request.set_timeout(deadline); // The server keeps it, too.
        let response = timeout(deadline, self.client.create_plant(request))
            .await
            .map_err(|_| Status::deadline_exceeded("no answer in time"))??;
        response
            .into_inner()
            .plant
            .ok_or_else(|| Status::internal("an answer without a plant"))
    }
}

/// The last two are tonic's: a connection that broke is Unknown, and a timeout of
/// its own, which runs beside the one in `attempt`, is Cancelled.
fn may_pass(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Unknown | Code::Cancelled
    )
}

fn show(plant: &Plant) -> String {
    format!("{} ({})", plant.name(), plant.tag())
}
