//! A proxy in front of the database that counts what a store sends, and can hold a statement up,
//! cut the connection at a chosen one, or go silent, as a cut cable does.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use notekeeper_store::{PostgresOptions, PostgresStore};
use sqlx::postgres::PgConnectOptions;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::oneshot,
};

use crate::database::Database;

/// Forwards to the database of the tests. Stops when dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Statements: messages that make the server run one.
    statements: AtomicU64,
    /// Statements that were parsed: once for each connection.
    prepared: AtomicU64,
    /// Messages after which the client waits until the server is ready again.
    round_trips: AtomicU64,
    trap: Mutex<Option<Trap>>,
    /// Connections so far.
    connections: AtomicU64,
    /// The first so many connections lead nowhere any more.
    silenced: AtomicU64,
}

/// What happens to a statement that was chosen by its number.
#[derive(Debug)]
enum Trap {
    /// It waits on its way to the server.
    Hold {
        at: u64,
        reached: oneshot::Sender<()>,
        release: oneshot::Receiver<()>,
    },
    /// The server runs it, but the connection is cut before the client sees the answer.
    CutAfter { at: u64 },
    /// The connection is cut before the server sees it.
    CutBefore { at: u64 },
    /// It is answered, but nothing that comes after it on this connection gets to the server.
    SilenceAfter { at: u64 },
}

impl Trap {
    fn at(&self) -> u64 {
        match self {
            Self::Hold { at, .. }
            | Self::CutAfter { at }
            | Self::CutBefore { at }
            | Self::SilenceAfter { at } => *at,
        }
    }
}

/// A statement that is held up.
#[derive(Debug)]
pub(crate) struct Held {
    reached: oneshot::Receiver<()>,
    release: oneshot::Sender<()>,
}

impl Held {
    /// Waits until the statement is on its way, and gives what lets it go on.
    pub(crate) async fn reached(self) -> oneshot::Sender<()> {
        self.reached.await.expect("the statement comes");
        self.release
    }
}

impl Proxy {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::new(State::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self {
            port,
            state,
            accepting,
        }
    }

    /// How to reach the database through this proxy.
    pub(crate) fn options(&self, database: &Database) -> PostgresOptions {
        let url = &database.options.url;
        let separator = if url.contains('?') { '&' } else { '?' };
        let port = self.port;
        // A socket in the URL would win over the host.
        assert!(
            !url.contains("host="),
            "these tests need a database URL without a socket"
        );
        PostgresOptions {
            url: format!("{url}{separator}host=127.0.0.1&port={port}&sslmode=disable"),
            ..database.options.clone()
        }
    }

    /// A store that reaches the database through this proxy.
    pub(crate) fn store(&self, database: &Database, connections_max: u32) -> PostgresStore {
        let options = PostgresOptions {
            connections_max,
            ..self.options(database)
        };
        PostgresStore::connect_lazy(&options).expect("valid options")
    }

    /// Statements so far.
    pub(crate) fn statements(&self) -> u64 {
        self.state.statements.load(Ordering::SeqCst)
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Statements parsed so far.
    pub(crate) fn prepared(&self) -> u64 {
        self.state.prepared.load(Ordering::SeqCst)
    }

    /// Round trips so far, those without a statement included.
    pub(crate) fn round_trips(&self) -> u64 {
        self.state.round_trips.load(Ordering::SeqCst)
    }

    /// Holds up the `number`th statement from now on; the next one is 1.
    pub(crate) fn hold(&self, number: u64) -> Held {
        let (reached_sender, reached) = oneshot::channel();
        let (release, release_receiver) = oneshot::channel();
        let at = self.statements() + number;
        self.set(Trap::Hold {
            at,
            reached: reached_sender,
            release: release_receiver,
        });
        Held { reached, release }
    }

    /// Cuts the connection of the `number`th statement from now on, after the server ran it.
    pub(crate) fn cut_after(&self, number: u64) {
        self.set(Trap::CutAfter {
            at: self.statements() + number,
        });
    }

    /// Cuts the connection of the `number`th statement from now on, before the server sees it.
    pub(crate) fn cut_before(&self, number: u64) {
        self.set(Trap::CutBefore {
            at: self.statements() + number,
        });
    }

    /// Lets nothing to the server that follows the `number`th statement from now on, on its
    /// connection. The statement is one with parameters.
    pub(crate) fn silence_after(&self, number: u64) {
        self.set(Trap::SilenceAfter {
            at: self.statements() + number,
        });
    }

    /// Lets nothing more to the server from the connections that there are. A trap still cuts
    /// them.
    pub(crate) fn silence(&self) {
        let connections = self.state.connections.load(Ordering::SeqCst);
        self.state.silenced.store(connections, Ordering::SeqCst);
    }

    /// Runs `slow`, whose `number`th statement waits until `fast` is over.
    pub(crate) async fn overtake<S, F>(
        &self,
        number: u64,
        slow: impl Future<Output = S>,
        fast: impl Future<Output = F>,
    ) -> (S, F) {
        let held = self.hold(number);
        let fast = async {
            let release = held.reached().await;
            let fast = fast.await;
            release.send(()).expect("the statement waits");
            fast
        };
        futures::join!(slow, fast)
    }

    fn set(&self, trap: Trap) {
        *self.state.trap.lock().expect("never held over a panic") = Some(trap);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let server: PgConnectOptions = crate::database::database_url().parse().expect("valid URL");
    while let Ok((client, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        let server = server.clone();
        tokio::spawn(async move {
            client.set_nodelay(true).expect("a live socket");
            let socket = match server.get_socket() {
                Some(socket) => Some(socket.display().to_string()),
                None => server
                    .get_host()
                    .starts_with('/')
                    .then(|| server.get_host().to_owned()),
            };
            if let Some(directory) = socket {
                let path = format!("{directory}/.s.PGSQL.{}", server.get_port());
                forward(
                    client,
                    UnixStream::connect(path).await.expect("connect"),
                    &state,
                )
                .await;
            } else {
                let address = (server.get_host(), server.get_port());
                let server = TcpStream::connect(address).await.expect("connect");
                server.set_nodelay(true).expect("a live socket");
                forward(client, server, &state).await;
            }
        });
    }
}

/// Forwards one connection until either side ends it, or a trap does.
async fn forward(client: TcpStream, server: impl AsyncRead + AsyncWrite, state: &State) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = tokio::io::split(server);
    let number = state.connections.fetch_add(1, Ordering::SeqCst);
    let swallow = AtomicBool::new(false);
    // Dropping what is left closes both sides.
    tokio::select! {
        _ = requests(from_client, to_server, state, number, &swallow) => {}
        _ = answers(from_server, to_client, &swallow) => {}
    }
}

async fn requests(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    state: &State,
    connection: u64,
    swallow: &AtomicBool,
) -> std::io::Result<()> {
    let (mut ending, mut silent) = (false, false);
    // The first message has no type.
    let length = client.read_u32().await?;
    let startup = read_body(&mut client, length).await?;
    server.write_u32(length).await?;
    server.write_all(&startup).await?;
    loop {
        let kind = client.read_u8().await?;
        let length = client.read_u32().await?;
        let body = read_body(&mut client, length).await?;
        if kind == b'P' {
            state.prepared.fetch_add(1, Ordering::SeqCst);
        }
        if matches!(kind, b'S' | b'Q') {
            state.round_trips.fetch_add(1, Ordering::SeqCst);
        }
        if matches!(kind, b'E' | b'Q') {
            let number = state.statements.fetch_add(1, Ordering::SeqCst) + 1;
            let trap = {
                let mut trap = state.trap.lock().expect("never held over a panic");
                trap.take_if(|trap| trap.at() == number)
            };
            match trap {
                None => {}
                Some(Trap::CutBefore { .. }) => return Ok(()),
                Some(Trap::CutAfter { .. }) => swallow.store(true, Ordering::SeqCst),
                Some(Trap::SilenceAfter { .. }) => ending = true,
                Some(Trap::Hold {
                    reached, release, ..
                }) => {
                    // A test that stopped waiting lets the statement go.
                    let _ = reached.send(());
                    let _ = release.await;
                }
            }
        }
        if silent || connection < state.silenced.load(Ordering::SeqCst) {
            continue;
        }
        // A statement is complete, and will be answered, with the Sync after it.
        silent = ending && kind == b'S';
        let mut message = Vec::with_capacity(body.len() + 5);
        message.push(kind);
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(&body);
        server.write_all(&message).await?;
    }
}

async fn answers(
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    swallow: &AtomicBool,
) -> std::io::Result<()> {
    loop {
        let kind = server.read_u8().await?;
        let length = server.read_u32().await?;
        let body = read_body(&mut server, length).await?;
        if swallow.load(Ordering::SeqCst) {
            if kind == b'Z' {
                return Ok(());
            }
            continue;
        }
        let mut message = Vec::with_capacity(body.len() + 5);
        message.push(kind);
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(&body);
        client.write_all(&message).await?;
    }
}

/// The rest of a message whose length counts itself.
async fn read_body(stream: &mut (impl AsyncRead + Unpin), length: u32) -> std::io::Result<Vec<u8>> {
    let mut body = vec![0; length as usize - 4];
    stream.read_exact(&mut body).await?;
    Ok(body)
}
