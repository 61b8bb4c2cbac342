//! `notekeeper dev`: a Temporal server, a store and a worker, with one command.

mod data;
mod welcome;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;
use notekeeper_store::SqliteOptions;

use crate::{
    arguments::{ModelArgs, QueueArgs},
    config::{File, StoreConfig, WorkerConfig},
    connection::PORT,
    dev_server::{DevServer, DevServerOptions, find_command_line},
    shutdown::Shutdown,
};

use self::{data::DataDirectory, welcome::Welcome};

use super::worker::{self, Opened};

/// How far the web UI's port is from the server's, where none is given; as with Temporal's own
/// command.
const UI_PORT_DISTANCE: u16 = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  notekeeper dev
  notekeeper dev --data ~/notes --script turns.json
  notekeeper dev --ephemeral --port 0 --no-ui")]
pub(crate) struct DevArgs {
    /// Directory that keeps the notes and the server's state, so that everything goes on after a
    /// stop; made where there is none.
    #[arg(
        long,
        env = "NOTEKEEPER_DATA",
        value_name = "DIR",
        default_value = ".notekeeper"
    )]
    data: PathBuf,

    /// Keep nothing: notes and the server's state live in memory.
    #[arg(long)]
    ephemeral: bool,

    /// Port of the Temporal server on this machine; 0 for any that is free.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,

    /// Port of Temporal's web UI [default: 1000 after the server's].
    #[arg(long, value_name = "PORT")]
    ui_port: Option<u16>,

    /// No web UI.
    #[arg(long, conflicts_with = "ui_port")]
    no_ui: bool,

    /// The Temporal command line, which brings the server [default: `temporal` on PATH].
    #[arg(long, env = "TEMPORAL_CLI", value_name = "FILE")]
    temporal_cli: Option<PathBuf>,

    #[command(flatten)]
    queues: QueueArgs,
    #[command(flatten)]
    models: ModelArgs,
}

pub(crate) fn run(config: Option<&Path>, args: DevArgs) -> anyhow::Result<ExitCode> {
    let file = File::read(config)?;
    let program = find_command_line(args.temporal_cli.as_deref())?;
    let ui_port = ui_port(&args)?;
    let data = match args.ephemeral {
        true => None,
        false => Some(DataDirectory::open(&args.data)?),
    };
    let store = match &data {
        None => StoreConfig::InMemory,
        Some(data) => StoreConfig::Sqlite(SqliteOptions::new(data.notes())),
    };
    let config = file.dev(store, &args.queues, &args.models)?;
    let options = DevServerOptions {
        program,
        port: args.port,
        ui_port,
        database: data.as_ref().map(DataDirectory::temporal),
    };
    super::block_on(serve(config, options, data))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves until a stop is asked for or the server ends. The worker drains before the server ends.
async fn serve(
    config: WorkerConfig,
    options: DevServerOptions,
    data: Option<DataDirectory>,
) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals()?;
    let opened = Opened::open(&config).await?;
    // Here and in no task of its own: the server ends with the thread that starts it.
    let started = tokio::select! {
        started = DevServer::start(&options) => started.map(Some),
        () = shutdown.asked() => Ok(None),
    };
    let mut server = match started {
        Ok(Some(server)) => server,
        stopped => {
            opened.close().await;
            return stopped.map(|_| ());
        }
    };
    let target = server.target().clone();
    let welcome = Welcome {
        port: server.port(),
        ui: server.ui(),
        data: data.as_ref().map(DataDirectory::path),
        config: &config,
    };
    let result = {
        let served = worker::serve(&config, opened, &target, &shutdown, || welcome.say());
        tokio::pin!(served);
        tokio::select! {
            result = &mut served => result,
            ended = server.ended() => {
                shutdown.ask();
                if let Err(error) = served.await {
                    tracing::warn!("{error:#}");
                }
                Err(ended)
            }
        }
    };
    server.stop().await;
    result
}

/// Port of the web UI; `None` for none.
fn ui_port(args: &DevArgs) -> anyhow::Result<Option<u16>> {
    if args.no_ui {
        return Ok(None);
    }
    let default = match args.port {
        // Any that is free, as the server's.
        0 => Some(0),
        port => port.checked_add(UI_PORT_DISTANCE),
    };
    args.ui_port.or(default).map(Some).with_context(|| {
        format!(
            "there is no port {UI_PORT_DISTANCE} after {} for the web UI; give --ui-port or --no-ui",
            args.port
        )
    })
}
