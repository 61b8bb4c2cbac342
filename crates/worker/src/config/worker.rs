//! What a worker serves, and how much at a time.

use std::{collections::BTreeMap, num::NonZeroU64, time::Duration};

use anyhow::bail;
use notekeeper_activities::Workspace;
use notekeeper_contract::{DEFAULT_STORE, MEMORY_TASK_QUEUE, WORKFLOW_TASK_QUEUE};
use notekeeper_recall::SourceSpec;
use serde::Deserialize;

use crate::{
    arguments::{DatabaseArgs, ModelArgs, QueueArgs},
    commands::worker::WorkerArgs,
    exit_limits::ExitLimits,
    metadata_template::MetadataTemplate,
};

use super::{
    EmbedderConfig, File, ModelConfig, StoreConfig, TelemetryConfig, TemporalConfig,
    models::environment,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WorkerSection {
    queues: Option<Vec<QueueName>>,
    task_queue: Option<String>,
    workflow_task_queue: Option<String>,
    activity_slots: Option<usize>,
    drain_seconds: Option<u64>,
    exit_after_activities: Option<NonZeroU64>,
    exit_above_resident_mb: Option<NonZeroU64>,
}

impl WorkerSection {
    fn exit(&self) -> ExitLimits {
        ExitLimits {
            after_activities: self.exit_after_activities,
            above_resident_mb: self.exit_above_resident_mb,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum QueueName {
    Memory,
    Workflows,
}

/// A task queue to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Queue {
    /// Activities only: what callers in any language use, and what is scaled.
    Memory,
    /// The workflows, and the same activities beside them.
    Workflows,
}

impl Queue {
    /// As flags and the file name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Workflows => "workflows",
        }
    }
}

/// All that a worker needs.
#[derive(Debug)]
pub(crate) struct WorkerConfig {
    pub(crate) temporal: TemporalConfig,
    pub(crate) stores: BTreeMap<String, StoreConfig>,
    pub(crate) workspaces: BTreeMap<String, Workspace>,
    pub(crate) models: BTreeMap<String, ModelConfig>,
    pub(crate) embedders: BTreeMap<String, EmbedderConfig>,
    /// As the file has them.
    pub(crate) sources: BTreeMap<String, SourceSpec>,
    /// Resolvers of write metadata.
    pub(crate) metadata: BTreeMap<String, MetadataTemplate>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) task_queue: String,
    pub(crate) workflow_task_queue: String,
    /// Activities at a time on each queue.
    pub(crate) activity_slots: usize,
    /// How long activities may go on after a stop signal before they are cancelled.
    pub(crate) drain: Duration,
    /// When the worker ends by itself.
    pub(crate) exit: ExitLimits,
    pub(crate) telemetry: TelemetryConfig,
}

/// Activities at a time on each queue. A write holds a connection for a few milliseconds, so this
/// keeps the pool busy and the memory of a worker small.
const ACTIVITY_SLOTS_DEFAULT: usize = 200;

/// Most activities at a time. Each may hold some megabytes: more than this no machine has.
const ACTIVITY_SLOTS_MAX: usize = 100_000;

/// One second more than an activity may take, so that a drain lets every one end.
const DRAIN_DEFAULT: Duration = Duration::from_secs(11);

/// Longest drain: a day, in seconds.
const DRAIN_SECONDS_MAX: u64 = 24 * 3_600;

impl File {
    /// Task queue of the activities that callers in any language use.
    pub(crate) fn task_queue(&self, flag: Option<&str>) -> String {
        flag.or(self.worker.task_queue.as_deref())
            .unwrap_or(MEMORY_TASK_QUEUE)
            .to_owned()
    }

    /// Task queue of the workflows.
    pub(crate) fn workflow_task_queue(&self, flag: Option<&str>) -> String {
        flag.or(self.worker.workflow_task_queue.as_deref())
            .unwrap_or(WORKFLOW_TASK_QUEUE)
            .to_owned()
    }

    /// All that a worker needs.
    pub(crate) fn worker(self, args: &WorkerArgs) -> anyhow::Result<WorkerConfig> {
        let temporal = self.temporal(&args.temporal);
        let stores = self.stores(&args.database)?;
        let mut config = self.serving(temporal, stores, &args.queues, &args.models)?;
        config.exit = ExitLimits {
            after_activities: args
                .exit
                .exit_after_activities
                .or(config.exit.after_activities),
            above_resident_mb: args
                .exit
                .exit_above_resident_mb
                .or(config.exit.above_resident_mb),
        };
        Ok(config)
    }

    /// A worker beside a server of its own, whose store `default` is this one.
    pub(crate) fn dev(
        self,
        store: StoreConfig,
        queues: &QueueArgs,
        models: &ModelArgs,
    ) -> anyhow::Result<WorkerConfig> {
        if self.temporal.address.is_some() || self.temporal.namespace.is_some() {
            bail!(
                "the configuration file has [temporal], and `notekeeper dev` brings a server of its \
                 own; remove that, or run `notekeeper worker`"
            );
        }
        if self.worker.exit() != ExitLimits::default() {
            bail!(
                "the configuration file says when a worker ends by itself (`worker.exit_…`), and \
                 `notekeeper dev` starts none anew; remove that, or run `notekeeper worker`"
            );
        }
        if self.stores.contains_key(DEFAULT_STORE) {
            bail!(
                "the configuration file has [stores.{DEFAULT_STORE}], and `notekeeper dev` brings \
                 that store; remove it, or run `notekeeper worker`"
            );
        }
        let mut stores = match self.stores.is_empty() {
            true => BTreeMap::new(),
            false => self.stores(&DatabaseArgs::default())?,
        };
        stores.insert(DEFAULT_STORE.to_owned(), store);
        self.serving(TemporalConfig::default(), stores, queues, models)
    }

    /// Which task queues are served, without repetition: two workers on one would be refused by the
    /// server, late and unclearly.
    fn queues(&self, given: &[Queue]) -> Vec<Queue> {
        let named = self.worker.queues.iter().flatten();
        let named = named.map(|queue| match queue {
            QueueName::Memory => Queue::Memory,
            QueueName::Workflows => Queue::Workflows,
        });
        let mut queues = match given {
            [] => named.collect(),
            given => given.to_vec(),
        };
        queues.sort_unstable();
        queues.dedup();
        match queues.as_slice() {
            [] => vec![Queue::Memory, Queue::Workflows],
            _ => queues,
        }
    }

    /// A worker on these stores and this server.
    fn serving(
        self,
        temporal: TemporalConfig,
        stores: BTreeMap<String, StoreConfig>,
        args: &QueueArgs,
        model: &ModelArgs,
    ) -> anyhow::Result<WorkerConfig> {
        let task_queue = self.task_queue(args.task_queue.as_deref());
        let workflow_task_queue = self.workflow_task_queue(args.workflow_task_queue.as_deref());
        let models = self.models(model, &environment)?;
        let embedders = self.embedders(&environment)?;
        let metadata = self.metadata()?;
        let telemetry = self.telemetry(&environment)?;
        let exit = self.worker.exit();
        let queues = self.queues(&args.queues);
        let served: Vec<_> = queues
            .iter()
            .map(|queue| match queue {
                Queue::Memory => task_queue.as_str(),
                Queue::Workflows => workflow_task_queue.as_str(),
            })
            .collect();
        let workspaces = self.workspaces(|queue| served.contains(&queue))?;
        let config = WorkerConfig {
            temporal,
            stores,
            workspaces,
            models,
            embedders,
            sources: self.sources,
            metadata,
            queues,
            task_queue,
            workflow_task_queue,
            activity_slots: self.worker.activity_slots.unwrap_or(ACTIVITY_SLOTS_DEFAULT),
            drain: self
                .worker
                .drain_seconds
                .map_or(DRAIN_DEFAULT, Duration::from_secs),
            exit,
            telemetry,
        };
        if config.task_queue.is_empty() || config.workflow_task_queue.is_empty() {
            bail!("a task queue's name is empty; leave the setting out for the default");
        }
        if config.task_queue == config.workflow_task_queue {
            bail!("the two task queues have the same name; give one another name");
        }
        if !(1..=ACTIVITY_SLOTS_MAX).contains(&config.activity_slots) {
            bail!("`worker.activity_slots` must be 1 to {ACTIVITY_SLOTS_MAX}");
        }
        if config.drain.as_secs() > DRAIN_SECONDS_MAX {
            bail!("`worker.drain_seconds` must be at most {DRAIN_SECONDS_MAX}");
        }
        Ok(config)
    }
}
