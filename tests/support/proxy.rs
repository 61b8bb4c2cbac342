//! A TCP proxy that can be cut, so that one test's server is away while others' is not.

use std::sync::Arc;

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Forwards connections until it is cut or falls silent, and again after it is mended.
pub(crate) struct Proxy {
    address: std::net::SocketAddr,
    way: Arc<watch::Sender<Way>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// Connections end at once.
    Cut,
    /// Connections are taken, and nothing goes through.
    Silent,
}

impl Proxy {
    /// Listens on a free port and forwards to `target`, `host:port`.
    pub(crate) async fn start(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let way = Arc::new(watch::Sender::new(Way::Open));
        let gate = Arc::clone(&way);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, target.clone(), gate.subscribe()));
            }
        });
        Self { address, way }
    }

    /// Where it listens, `host:port`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// The database's URL by way of this proxy.
    pub(crate) fn url(&self, database_url: &str) -> String {
        database_url.replace(&Self::target(database_url), &self.address())
    }

    /// `host:port` of a database's URL.
    pub(crate) fn target(database_url: &str) -> String {
        let (host, port) = host_and_port(database_url);
        format!("{host}:{port}")
    }

    /// Cuts all connections and refuses new ones.
    pub(crate) fn cut(&self) {
        self.way.send_replace(Way::Cut);
    }

    /// Takes connections from now on and lets nothing through; cuts those that are open.
    pub(crate) fn fall_silent(&self) {
        self.way.send_replace(Way::Silent);
    }

    /// Lets new connections through again.
    pub(crate) fn mend(&self) {
        self.way.send_replace(Way::Open);
    }
}

async fn serve(client: TcpStream, target: String, mut way: watch::Receiver<Way>) {
    let at_first = *way.borrow_and_update();
    match at_first {
        Way::Open => {
            tokio::select! {
                () = forward(client, target) => {}
                // A change counts also where it was taken back before anybody looked.
                _ = way.changed() => {}
            }
        }
        Way::Cut => {}
        Way::Silent => {
            let _ = way.changed().await;
            drop(client);
        }
    }
}

async fn forward(mut client: TcpStream, target: String) {
    if let Ok(mut server) = TcpStream::connect(target).await {
        // Either side may go away at any time.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

fn host_and_port(url: &str) -> (&str, &str) {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    host.rsplit_once(':').expect("a port in DATABASE_URL")
}
