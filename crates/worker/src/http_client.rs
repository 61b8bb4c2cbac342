//! The HTTP client of what the worker asks and tells: the same TLS, and no redirects.

use std::{error::Error, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use reqwest::{Url, redirect};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

/// Longest time until a connection stands, name resolution and TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an unused connection is kept. Many servers close theirs after a minute or so, and a request
/// on one that is just being closed would fail for nothing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A client for this address; nothing is connected yet. `timeout` is that of a whole request.
pub(crate) fn http_client(url: &Url, timeout: Duration) -> anyhow::Result<reqwest::Client> {
    let mut client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .timeout(timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
        // A redirected request would take its headers, keys among them, to another host.
        .redirect(redirect::Policy::none())
        .user_agent(concat!("notekeeper/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls(url.scheme() == "https")?);
    if is_local(url) {
        client = client.no_proxy();
    }
    client
        .build()
        .map_err(reqwest::Error::without_url)
        .context("no HTTP client can be made")
}

/// What an error comes from in the end: those around it say that a request failed, and name the URL.
pub(crate) fn cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// Whether the address is on this machine, where no proxy leads to.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// TLS with a provider of its own: the process may have none by default, or another one.
fn tls(is_needed: bool) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if is_needed {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            bail!(
                "this machine has no usable root certificates, which an address behind `https` \
                 needs; install them, or name them in SSL_CERT_FILE"
            );
        }
    }
    Ok(
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth(),
    )
}
