//! The ports of a development server.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use anyhow::{Context as _, bail};

use crate::connection::TemporalTarget;

use super::NAMESPACE;

/// The server is for this machine alone.
pub(super) const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// How long a port may be taken by a server that is just ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest wait for whoever has a port to show that it is a Temporal server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Ports of the server and of its web UI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) server: u16,
    pub(super) ui: Option<u16>,
}

impl Ports {
    /// Checks that these ports are free; 0 stands for any free one.
    pub(super) async fn choose(server: u16, ui: Option<u16>) -> anyhow::Result<Self> {
        // Both are held until both are known, so that they differ.
        let server = hold(server, "port", "--port").await?;
        let ui = match ui {
            None => None,
            Some(port) => Some(hold(port, "port of the web UI", "--ui-port").await?),
        };
        let number = |listener: &TcpListener| anyhow::Ok(listener.local_addr()?.port());
        Ok(Self {
            server: number(&server)?,
            ui: ui.as_ref().map(number).transpose()?,
        })
    }
}

/// Whether a line of the server's says that a port was taken.
pub(super) fn speaks_of_a_taken_port(line: &str) -> bool {
    line.contains("address already in use")
}

async fn hold(port: u16, what: &str, flag: &str) -> anyhow::Result<TcpListener> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let error = match TcpListener::bind((LOOPBACK, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => error,
        };
        if error.kind() != ErrorKind::AddrInUse {
            return Err(error).with_context(|| {
                format!("{what} {port} can't be used; give another one with {flag}")
            });
        }
        if answers_as_temporal(port).await {
            bail!(
                "{what} {port} is taken by a Temporal server, maybe that of another `notekeeper dev`; \
                 stop it, or give another port with {flag}"
            );
        }
        if tokio::time::Instant::now() >= deadline {
            bail!(
                "{what} {port} is taken by another program; stop it, or give another port with {flag}"
            );
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn answers_as_temporal(port: u16) -> bool {
    let Ok(target) = TemporalTarget::local(port, NAMESPACE) else {
        return false;
    };
    matches!(
        tokio::time::timeout(ANSWER_TIMEOUT, target.connect()).await,
        Ok(Ok(_))
    )
}
