//! The HTTP client.

use std::{sync::Arc, time::Duration};

use reqwest::redirect;
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::{endpoint::Endpoint, options::OpenAiError};

/// Longest time until a connection stands, name resolution and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an unused connection is kept. Endpoints close theirs after a minute or so, and a
/// request on one that is just being closed would fail for nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) fn http_client(
    endpoint: &Endpoint,
    timeout: Duration,
) -> Result<reqwest::Client, OpenAiError> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .timeout(timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
        // A redirected POST loses its body, or takes the key to another host.
        .redirect(redirect::Policy::none())
        .user_agent(concat!("notekeeper/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls(endpoint.is_secure())?);
    if endpoint.is_local() {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| OpenAiError::Client(error.without_url().to_string()))
}

/// TLS with a provider of its own: the process may have none by default, or another one.
fn tls(is_needed: bool) -> Result<ClientConfig, OpenAiError> {
    let mut roots = RootCertStore::empty();
    if is_needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(OpenAiError::RootCertificates);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenAiError::Client(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
