//! Driving clients: each repeats one operation, all at the same time.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::task::JoinSet;

use crate::sample::Sample;

/// One client with all that it keeps between operations.
#[async_trait]
pub(crate) trait Client: Send {
    /// Carries out one operation. An error ends the whole run: nothing here may fail.
    async fn operate(&mut self) -> anyhow::Result<()>;
}

/// How long a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// Until this time is over; operations that were begun are ended.
    Time(Duration),
    /// Until each client has done so many operations.
    Operations(u32),
}

/// Lets all clients work at once and gives them back for the next run.
pub(crate) async fn drive(
    clients: &mut Vec<Box<dyn Client>>,
    length: Length,
) -> anyhow::Result<Sample> {
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for client in clients.drain(..) {
        tasks.spawn(work(client, length, begin));
    }
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (client, own) = done.context("a client panicked")??;
        times.extend(own);
        clients.push(client);
    }
    Ok(Sample::of(times, begin.elapsed(), 0))
}

async fn work(
    mut client: Box<dyn Client>,
    length: Length,
    begin: Instant,
) -> anyhow::Result<(Box<dyn Client>, Vec<Duration>)> {
    let mut times = Vec::new();
    let mut started = Instant::now();
    loop {
        match length {
            Length::Time(time) if begin.elapsed() >= time => break,
            Length::Operations(number) if times.len() >= number as usize => break,
            _ => {}
        }
        client.operate().await?;
        let now = Instant::now();
        times.push(now - started);
        started = now;
    }
    Ok((client, times))
}
