//! Workers inside the test's process, for code that the binary doesn't have.

use std::thread::JoinHandle;

use temporalio_client::Client;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};
use tokio::{runtime::Handle, sync::oneshot};

/// A running worker. It has a thread of its own; [`Hosted::stop`] ends it.
pub(crate) struct Hosted {
    stop: Box<dyn Fn() + Send>,
    thread: JoinHandle<()>,
}

impl Hosted {
    /// Starts a worker and waits until it polls.
    pub(crate) async fn start(client: Client, options: WorkerOptions) -> Self {
        let tokio = Handle::current();
        let (started, starting) = oneshot::channel::<Box<dyn Fn() + Send>>();
        let thread = std::thread::spawn(move || {
            let options_of_runtime = RuntimeOptions::builder().build().expect("runtime options");
            let _entered = tokio.enter();
            let runtime = Runtime::from_current_tokio(options_of_runtime).expect("runtime");
            let mut worker = Worker::new(&runtime, client, options).expect("worker");
            let stop = worker.shutdown_handle();
            assert!(
                started.send(Box::new(stop)).is_ok(),
                "the test waits for this"
            );
            tokio.block_on(worker.run()).expect("the worker ends well");
        });
        let stop = starting.await.expect("the worker starts");
        Self { stop, thread }
    }

    /// Stops it and waits until it has ended.
    pub(crate) async fn stop(self) {
        (self.stop)();
        tokio::task::spawn_blocking(|| self.thread.join())
            .await
            .expect("wait for the worker's thread")
            .expect("the worker's thread did not panic");
    }
}
