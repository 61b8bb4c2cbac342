//! Stopping on signals.

use std::time::{Duration, Instant};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::exit::Exit;

/// Signals within this time after the first are the same wish: supervisors and terminals send one
/// to the process and one to its group.
const SAME_WISH: Duration = Duration::from_millis(300);

/// Tells whoever asks that the process should stop.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown {
    /// When a stop was asked for first.
    ask: watch::Sender<Option<Instant>>,
}

impl Shutdown {
    /// Listens for SIGTERM and SIGINT. A second signal, which isn't the first one sent twice, ends
    /// the process at once.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let shutdown = Self {
            ask: watch::Sender::new(None),
        };
        let signalled = shutdown.clone();
        tokio::spawn(async move {
            either(&mut terminate, &mut interrupt).await;
            tracing::info!("stopping");
            signalled.ask();
            let same_wish = async {
                loop {
                    either(&mut terminate, &mut interrupt).await;
                }
            };
            let _ = tokio::time::timeout(SAME_WISH, same_wish).await;
            tracing::info!("send the signal again to stop at once");
            either(&mut terminate, &mut interrupt).await;
            tracing::warn!("stopped at once; unfinished activities will be retried elsewhere");
            std::process::exit(Exit::Interrupted.code().into());
        });
        Ok(shutdown)
    }

    /// One that listens for no signal.
    #[cfg(test)]
    pub(crate) fn by_hand() -> Self {
        Self {
            ask: watch::Sender::new(None),
        }
    }

    /// Asks for a stop.
    pub(crate) fn ask(&self) {
        self.ask
            .send_modify(|asked| *asked = asked.or_else(|| Some(Instant::now())));
    }

    /// How long ago a stop was asked for; zero while none was.
    pub(crate) fn since_asked(&self) -> Duration {
        self.ask.borrow().map_or(Duration::ZERO, |at| at.elapsed())
    }

    /// Waits until a stop is asked for.
    pub(crate) async fn asked(&self) {
        // `self` holds a sender, so the channel can't close under the wait.
        let _ = self.ask.subscribe().wait_for(Option::is_some).await;
    }
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! { _ = one.recv() => {}, _ = other.recv() => {} }
}
