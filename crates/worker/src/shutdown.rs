//! Stopping on signals.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Tells whoever asks that the process should stop.
#[derive(Debug, Clone)]
pub(crate) struct Shutdown {
    ask: watch::Sender<bool>,
}

impl Shutdown {
    /// Listens for SIGTERM and SIGINT. A second signal ends the process at once.
    pub(crate) fn on_signals() -> anyhow::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let ask = watch::Sender::new(false);
        let shutdown = Self { ask: ask.clone() };
        tokio::spawn(async move {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            tracing::info!("stopping; send the signal again to stop at once");
            ask.send_replace(true);
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            tracing::warn!("stopped at once; unfinished activities will be retried elsewhere");
            // 128 + SIGINT, as shells report it.
            std::process::exit(130);
        });
        Ok(shutdown)
    }

    /// Asks for a stop.
    pub(crate) fn ask(&self) {
        self.ask.send_replace(true);
    }

    /// Waits until a stop is asked for.
    pub(crate) async fn asked(&self) {
        // `self` holds a sender, so the channel can't close under the wait.
        let _ = self.ask.subscribe().wait_for(|asked| *asked).await;
    }
}
