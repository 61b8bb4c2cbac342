//! All that fits into ten minutes.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use notekeeper_domain::SearchQuery;
use notekeeper_store::{SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use crate::{
    bare::Bare,
    dataset,
    drive::Length,
    machine::{Built, Machine},
    memory,
    peer::{PEER, Peer},
    pgbench::{PGBENCH, Pgbench},
    product::{self, Product, SQLITE},
    report,
    results::{self, NotMeasured, Quick},
    stage::{Servers, Stage},
    through_temporal,
    work::{Cell, Contender, Work, measure},
};

/// What `quick` takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuickArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Rounds that count; one more warms up.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Seconds of one run of one contender; whole ones, because pgbench knows no others.
    #[arg(long, default_value_t = 1)]
    pub(crate) seconds: u64,
    /// Only these, by the names that are printed; nothing is written then.
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

impl QuickArgs {
    fn wants(&self, what: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == what)
    }
}

/// Lines that each of the 32 writers appends to the one note in a run.
pub(crate) const APPENDS_EACH: u32 = 30;

/// Rounds of what goes through Temporal.
const TEMPORAL_ROUNDS: usize = 5;

/// Measures everything and writes what came of it.
pub(crate) async fn run(args: QuickArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let stage = Stage::set(args.servers.clone()).await?;
    let progress = |what: &str| println!("{:>4.0} s  {what}", began.elapsed().as_secs_f64());
    let mut quick = Quick {
        built: Built::describe(),
        machine: Machine::describe(&stage).await?,
        ..Quick::default()
    };

    let cells = cells(&args);
    if !cells.is_empty() {
        progress("notes for all stores, and the Python peer's packages");
        let mut contenders = contenders(&stage, &mut quick).await?;
        for cell in cells {
            progress(&format!("{}: {} clients", cell.work.name(), cell.clients));
            let measured = measure(&mut contenders, cell, args.rounds).await?;
            print!("{}", report::cell(&measured)?);
            quick.store.push(measured);
        }
    }
    if args.wants("temporal") {
        progress("temporal: memory writes beside an activity that does nothing");
        quick.temporal = through_temporal::measure(&stage, TEMPORAL_ROUNDS).await?;
        print!("{}", report::temporal(&quick.temporal)?);
    }
    if args.wants("memory") {
        progress("memory: a worker at rest and with 1,000 operations in flight");
        quick.memory = memory::measure(&stage).await?;
        println!("{:?}", quick.memory);
    }
    stage.clear().await?;
    quick.took_seconds = began.elapsed().as_secs_f64();
    if args.only.is_empty() {
        results::write("quick.json", &quick)?;
        report::write()?;
        progress("docs/performance.md is written");
    }
    Ok(())
}

/// Everybody who can be measured here; what is said of the others goes into the results.
async fn contenders(stage: &Stage, quick: &mut Quick) -> anyhow::Result<Vec<Box<dyn Contender>>> {
    let notes = dataset::notes();
    dataset::fill(stage.store.as_ref(), &notes).await?;
    let url = &stage.servers.database_url;
    let mut contenders: Vec<Box<dyn Contender>> = vec![
        Box::new(Product::postgres(stage.options())),
        Box::new(Bare::new(url, &stage.schema)?),
    ];
    let path = stage.directory.join("notekeeper.db");
    let file: Arc<dyn Store> = Arc::new(SqliteStore::open(&SqliteOptions::new(path)).await?);
    dataset::fill(file.as_ref(), &notes).await?;
    let sqlite = Product::new(SQLITE, Box::new(move |_| Ok(Arc::clone(&file))));
    contenders.push(Box::new(sqlite));
    match pgbench(stage) {
        Ok(pgbench) => contenders.push(Box::new(pgbench)),
        Err(why) => quick.not_measured.push(left_out(PGBENCH, &why)),
    }
    match Peer::start(url, &stage.peer_schema, &notes, &stage.directory).await {
        Ok(mut peer) => {
            quick.python = Some(peer.python.clone());
            quick.same_hits = Some(finds_the_same(stage, &mut peer).await?);
            contenders.push(Box::new(peer));
        }
        Err(why) => quick.not_measured.push(left_out(PEER, &why)),
    }
    Ok(contenders)
}

fn cells(args: &QuickArgs) -> Vec<Cell> {
    let length = Length::Time(Duration::from_secs(args.seconds));
    let cell = |work, clients| Cell {
        work,
        clients,
        length,
    };
    let all = vec![
        cell(Work::Write, 1),
        cell(Work::Write, 8),
        cell(Work::Write, 32),
        cell(Work::Read, 16),
        cell(Work::Snapshot, 16),
        cell(Work::List, 16),
        cell(Work::SearchRare, 1),
        cell(Work::SearchCommon, 1),
        Cell {
            work: Work::Append,
            clients: 32,
            length: Length::Operations(APPENDS_EACH),
        },
    ];
    let wanted = all.into_iter().filter(|cell| args.wants(cell.work.name()));
    wanted.collect()
}

fn left_out(what: &str, why: &anyhow::Error) -> NotMeasured {
    println!("         not measured: {what}: {why:#}");
    NotMeasured {
        what: what.to_owned(),
        why: format!("{why:#}"),
    }
}

fn pgbench(stage: &Stage) -> anyhow::Result<Pgbench> {
    let program = match &stage.servers.postgres_bin {
        Some(directory) => directory.join("pgbench"),
        None => PathBuf::from("pgbench"),
    };
    let runs = std::process::Command::new(&program)
        .arg("--version")
        .stdout(std::process::Stdio::null())
        .status();
    anyhow::ensure!(
        runs.is_ok_and(|status| status.success()),
        "`{}` can't be run; unset DATABASE_URL for a server that brings it",
        program.display()
    );
    let url = &stage.servers.database_url;
    Ok(Pgbench::new(
        program,
        url,
        &stage.schema,
        stage.directory.clone(),
    ))
}

/// Whether both find the same notes, with the same scores and snippets.
async fn finds_the_same(stage: &Stage, peer: &mut Peer) -> anyhow::Result<bool> {
    let mut same = true;
    for word in [dataset::RARE_WORD, dataset::COMMON_WORD] {
        let query = SearchQuery::parse(word)?;
        let answer = product::search(stage.store.as_ref(), &query).await?;
        let ours: Vec<Value> = answer
            .matches
            .iter()
            .map(|found| json!([found.file, found.snippet, found.score]))
            .collect();
        let theirs = peer.matches(word).await?;
        same &= theirs["matches"] == json!(ours)
            && theirs["scanned"] == json!(answer.scanned)
            && theirs["truncated"] == json!(answer.truncated);
    }
    Ok(same)
}
