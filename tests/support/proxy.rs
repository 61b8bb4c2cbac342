//! A TCP proxy that can be cut, so that one test's database is away while others' is not.

use std::sync::Arc;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Forwards connections until it is cut, and again after it is mended.
pub(crate) struct Proxy {
    address: std::net::SocketAddr,
    open: Arc<watch::Sender<bool>>,
}

impl Proxy {
    /// Listens on a free port and forwards to `target`, `host:port`.
    pub(crate) async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let open = Arc::new(watch::Sender::new(true));
        let gate = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *gate.borrow() {
                    tokio::spawn(forward(client, target.clone(), gate.subscribe()));
                }
            }
        });
        Self { address, open }
    }

    /// The database's URL by way of this proxy.
    pub(crate) fn url(&self, database_url: &str) -> String {
        let (host, port) = host_and_port(database_url);
        database_url.replace(&format!("{host}:{port}"), &self.address.to_string())
    }

    /// `host:port` of a database's URL.
    pub(crate) fn target(database_url: &str) -> String {
        let (host, port) = host_and_port(database_url);
        format!("{host}:{port}")
    }

    /// Cuts all connections and refuses new ones.
    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    /// Lets new connections through again.
    pub(crate) fn mend(&self) {
        self.open.send_replace(true);
    }
}

async fn forward(mut client: TcpStream, target: String, mut open: watch::Receiver<bool>) {
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = open.wait_for(|open| !open) => {}
    }
}

fn host_and_port(url: &str) -> (&str, &str) {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.rsplit_once(':').expect("a port in DATABASE_URL")
}
