//! BuildKit's session: a second connection on which the engine asks envdoc, by gRPC, for secrets and registry
//! credentials.
//!
//! When it is closed, the engine gives the build up.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use bollard::grpc::build::health::health_check_response::ServingStatus;
use bollard::grpc::build::health::health_server::{Health, HealthServer};
use bollard::grpc::build::health::{
    HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
};
use bollard::grpc::build::moby::buildkit::secrets::v1::secrets_server::{Secrets, SecretsServer};
use bollard::grpc::build::moby::buildkit::secrets::v1::{GetSecretRequest, GetSecretResponse};
use bollard::grpc::build::moby::filesync::v1::auth_server::{Auth, AuthServer};
use bollard::grpc::build::moby::filesync::v1::{
    CredentialsRequest, CredentialsResponse, FetchTokenRequest, FetchTokenResponse, GetTokenAuthorityRequest,
    GetTokenAuthorityResponse, VerifyTokenAuthorityRequest, VerifyTokenAuthorityResponse,
};
use futures_util::{Stream, stream};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

use crate::auth::Logins;
use crate::error::Error;
use crate::http;
use facts::docker::Endpoint;

/// What the engine may call, as the headers of the session name it.
const METHODS: &[&str] = &[
    "/grpc.health.v1.Health/Check",
    "/moby.buildkit.secrets.v1.Secrets/GetSecret",
    "/moby.filesync.v1.Auth/Credentials",
];

/// An open session; dropped, it is closed.
pub(super) struct Session {
    pipe: JoinHandle<()>,
    server: JoinHandle<()>,
}

impl Session {
    /// Opens the session `id` and answers on it from now on.
    pub(super) async fn open(
        endpoint: &Endpoint,
        id: &str,
        secrets: BTreeMap<String, Vec<u8>>,
        logins: Arc<Logins>,
    ) -> Result<Session, Error> {
        let mut headers =
            vec![("X-Docker-Expose-Session-Uuid", id), ("X-Docker-Expose-Session-Name", "envdoc")];
        headers.extend(METHODS.iter().map(|method| ("X-Docker-Expose-Session-Grpc-Method", *method)));
        let upgraded = http::upgrade(endpoint, "/session", "h2c", &headers).await?;
        // tonic wants a connection of a kind that it knows; the two ends of a pipe in memory are.
        let (ours, mut theirs) = tokio::io::duplex(256 << 10);
        let pipe = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(upgraded), &mut theirs).await;
        });
        let router = tonic::transport::Server::builder()
            .add_service(HealthServer::new(Alive))
            .add_service(SecretsServer::new(Store(secrets)))
            .add_service(AuthServer::new(Keys(logins)));
        let server = tokio::spawn(async move {
            let connection = stream::iter([Ok::<_, std::io::Error>(ours)]);
            let _ = router.serve_with_incoming(connection).await;
        });
        Ok(Session { pipe, server })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.pipe.abort();
        self.server.abort();
    }
}

/// The engine asks every few seconds whether its client is still there.
struct Alive;

#[tonic::async_trait]
impl Health for Alive {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }

    async fn list(&self, _: Request<HealthListRequest>) -> Result<Response<HealthListResponse>, Status> {
        Err(Status::unimplemented("only Check is implemented"))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("only Check is implemented"))
    }
}

struct Store(BTreeMap<String, Vec<u8>>);

#[tonic::async_trait]
impl Secrets for Store {
    async fn get_secret(
        &self,
        request: Request<GetSecretRequest>,
    ) -> Result<Response<GetSecretResponse>, Status> {
        match self.0.get(&request.get_ref().id) {
            Some(data) => Ok(Response::new(GetSecretResponse { data: data.clone() })),
            None => Err(Status::not_found(format!("envdoc has no secret {}", request.get_ref().id))),
        }
    }
}

struct Keys(Arc<Logins>);

#[tonic::async_trait]
impl Auth for Keys {
    async fn credentials(
        &self,
        request: Request<CredentialsRequest>,
    ) -> Result<Response<CredentialsResponse>, Status> {
        let host = request.into_inner().host;
        let logins = self.0.clone();
        // A credential helper is a program: it must not hold up the connection.
        let found = tokio::task::spawn_blocking(move || logins.for_registry(&host)).await;
        let login = found.map_err(Error::other).and_then(|login| login);
        let login = login.map_err(|error| Status::internal(error.to_string()))?;
        let (username, secret) = login.map(|login| login.for_buildkit()).unwrap_or_default();
        Ok(Response::new(CredentialsResponse { username, secret }))
    }

    // Without these the engine itself asks the registry for a token, with the credentials.
    async fn fetch_token(
        &self,
        _: Request<FetchTokenRequest>,
    ) -> Result<Response<FetchTokenResponse>, Status> {
        Err(Status::unimplemented("the engine requests tokens itself"))
    }

    async fn get_token_authority(
        &self,
        _: Request<GetTokenAuthorityRequest>,
    ) -> Result<Response<GetTokenAuthorityResponse>, Status> {
        Err(Status::unavailable("the engine requests tokens itself"))
    }

    async fn verify_token_authority(
        &self,
        _: Request<VerifyTokenAuthorityRequest>,
    ) -> Result<Response<VerifyTokenAuthorityResponse>, Status> {
        Err(Status::unavailable("the engine requests tokens itself"))
    }
}
