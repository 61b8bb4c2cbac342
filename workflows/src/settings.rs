//! Settings of a memory, with the defaults that its users know.

use notekeeper_contract::{DEFAULT_STORE, Delivery, MEMORY_TASK_QUEUE, MetadataSource};
use notekeeper_domain as domain;
use serde::{Deserialize, Serialize};

use crate::activity_call::CallOptions;

/// Id of a memory where its settings give none.
pub const DEFAULT_MEMORY_ID: &str = "memory";

/// Longest id of a memory, in bytes.
const ID_BYTES_MAX: usize = 64;

/// How one memory behaves. Every field has a default, also in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemorySettings {
    /// Which memory of the agent it is: 1 to 64 ASCII letters, digits, `_`, `-` and `.`. Two of one
    /// id are one memory stated twice.
    pub id: String,
    /// Which of the worker's stores keeps the notes. In JSON `backend` is another name for it.
    #[serde(alias = "backend")]
    pub store: String,
    /// The tenant, where each memory has its own: for a resolver that answers with it, as that of
    /// [`AgentWorkflow`](crate::AgentWorkflow) does. Any other resolver has to agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Storage segment inside the namespace; the model never sees it.
    pub agent_name: String,
    /// Heading over guidance and block; empty for none.
    pub heading: String,
    /// Whether blocks are placed in model requests. With `false` prompts stay cache-stable and
    /// the model fetches memory with its tools.
    pub inject_memory: bool,
    /// Budget of guidance and block together, in tokens of four characters.
    pub max_tokens: usize,
    /// Most lines of `MEMORY.md` in a block.
    pub max_lines: usize,
    /// Bound of one note for reads, searches and writes, in characters.
    pub max_memory_size: usize,
    /// Most matches of one search.
    pub max_search_results: usize,
    /// Most characters of file names and snippets of one search together.
    pub max_search_result_chars: usize,
    /// Most notes that one search examines.
    pub max_search_files: usize,
    /// What a store failure during injection does.
    pub injection_errors: InjectionErrors,
    /// Usage guidance for the instructions: ours where none is given, none where it is empty.
    pub guidance: Option<String>,
    /// Put before tool names as `{prefix}_`; empty for none.
    pub prefix: String,
    /// How blocks come back. Where none is given, handles take them inline and `AgentWorkflow`
    /// by reference.
    pub delivery: Option<Delivery>,
    /// What is recorded of each of the model's writes beside the text: `{"fixed": {…}}`, or
    /// `{"resolver": "…"}` for what the worker's resolver of that name answers. Without it they
    /// record nothing, also where a person's write before them did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_metadata: Option<MetadataSource>,
    /// Where and how long activities run.
    pub activities: ActivitySettings,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            id: DEFAULT_MEMORY_ID.to_owned(),
            store: DEFAULT_STORE.to_owned(),
            namespace: None,
            agent_name: domain::AGENT_NAME_DEFAULT.to_owned(),
            heading: String::new(),
            inject_memory: true,
            max_tokens: domain::TOKENS_MAX_DEFAULT,
            max_lines: domain::LINES_MAX_DEFAULT,
            max_memory_size: domain::NOTE_CHARS_MAX_DEFAULT,
            max_search_results: domain::SEARCH_RESULTS_MAX_DEFAULT,
            max_search_result_chars: domain::SEARCH_RESULT_CHARS_MAX_DEFAULT,
            max_search_files: domain::SEARCH_FILES_MAX_DEFAULT,
            injection_errors: InjectionErrors::Ignore,
            guidance: None,
            prefix: String::new(),
            delivery: None,
            write_metadata: None,
            activities: ActivitySettings::default(),
        }
    }
}

impl MemorySettings {
    /// The guidance as it stands in the instructions; `None` where there is none.
    pub(crate) fn rendered_guidance(&self) -> Option<String> {
        let chars_max = self.max_tokens.saturating_mul(domain::CHARS_PER_TOKEN);
        domain::rendered_guidance(self.guidance.as_deref(), &self.heading, chars_max)
    }

    /// The name of a memory tool as the model sees it.
    pub(crate) fn tool_name(&self, tool: &str) -> String {
        domain::tool_name(&self.prefix, tool)
    }

    /// Names the first setting that is out of bounds.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_id()?;
        let positive = [
            ("max_tokens", self.max_tokens),
            ("max_memory_size", self.max_memory_size),
            ("max_search_results", self.max_search_results),
            ("max_search_result_chars", self.max_search_result_chars),
            ("max_search_files", self.max_search_files),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{name}` must be at least 1"));
        }
        check_prefix(&self.prefix)?;
        if self.heading.contains('\0') {
            return Err("`heading` contains a NUL character (U+0000)".to_owned());
        }
        check_name("store", &self.store)?;
        self.check_write_metadata()?;
        self.activities.check()
    }

    /// Whether the model's writes record anything beside the text.
    pub(crate) fn records_metadata(&self) -> bool {
        self.write_metadata
            .as_ref()
            .is_some_and(|source| match source {
                MetadataSource::Fixed(entries) => !entries.is_empty(),
                MetadataSource::Resolver(_) => true,
            })
    }

    fn check_write_metadata(&self) -> Result<(), String> {
        match &self.write_metadata {
            None => Ok(()),
            Some(MetadataSource::Resolver(name)) => check_name("write_metadata.resolver", name),
            Some(MetadataSource::Fixed(entries)) => {
                let checked = domain::WriteMetadata::new(entries.clone());
                checked.map_err(|error| format!("`write_metadata.fixed`: {error}"))?;
                Ok(())
            }
        }
    }

    /// Says what is wrong with the id, if anything is.
    pub(crate) fn check_id(&self) -> Result<(), String> {
        let fits = (1..=ID_BYTES_MAX).contains(&self.id.len())
            && self
                .id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        if fits {
            return Ok(());
        }
        Err(format!(
            "`id` must be 1 to {ID_BYTES_MAX} ASCII letters, digits, `_`, `-` and `.`"
        ))
    }
}

/// Longest time-out, in milliseconds: 30 days. Temporal refuses what its protocol can't carry by
/// failing the workflow task again and again.
const TIMEOUT_MS_MAX: u64 = 30 * 24 * 3_600 * 1_000;

/// Longest name of a store, model, task queue or activity type, in bytes. Temporal's own limit for
/// names is 1,000 bytes by default.
const NAME_BYTES_MAX: usize = 200;

/// Says what is wrong with a time-out, if anything is.
pub(crate) fn check_timeout(name: &str, milliseconds: u64) -> Result<(), String> {
    if (1..=TIMEOUT_MS_MAX).contains(&milliseconds) {
        return Ok(());
    }
    Err(format!("`{name}` must be 1 to {TIMEOUT_MS_MAX} ms"))
}

/// Says what is wrong with the name of something that Temporal or the worker looks up.
pub(crate) fn check_name(name: &str, value: &str) -> Result<(), String> {
    if (1..=NAME_BYTES_MAX).contains(&value.len()) && !value.contains('\0') {
        return Ok(());
    }
    Err(format!(
        "`{name}` must have 1 to {NAME_BYTES_MAX} bytes, none of them NUL"
    ))
}

/// Says what is wrong with the prefix of tool names, if anything is.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if prefix.len() <= 40 && prefix.bytes().all(fits) {
        return Ok(());
    }
    Err("`prefix` must be at most 40 ASCII letters, digits, `_` and `-`".to_owned())
}

/// What a store failure during injection does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionErrors {
    /// The request goes out without the block; the skip is recorded as data.
    #[default]
    Ignore,
    /// The failure reaches the caller.
    Raise,
}

/// Where memory activities run: `{"named": "…"}`, `"workflow"` or `"local"` in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityQueue {
    /// A queue by name, served by activity-only workers.
    Named(String),
    /// The workflow's own queue, where they may start eagerly.
    Workflow,
    /// None: they run as local activities, within the workflow task and on the worker that carries
    /// it out, which must have the stores. Far cheaper; until one has ended, the workflow's worker
    /// is asked for nothing else of the run for up to 80 % of its task time-out.
    Local,
}

impl ActivityQueue {
    /// The queue for what can't be local; `None` is the workflow's own.
    pub(crate) fn task_queue(&self) -> Option<String> {
        match self {
            Self::Named(name) => Some(name.clone()),
            Self::Workflow | Self::Local => None,
        }
    }
}

impl Default for ActivityQueue {
    fn default() -> Self {
        Self::Named(MEMORY_TASK_QUEUE.to_owned())
    }
}

/// Where and how long activities run. Nothing retries without end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActivitySettings {
    /// The task queue, or none.
    pub queue: ActivityQueue,
    /// Longest single attempt, in milliseconds: what a task lost in a shutdown costs.
    pub start_to_close_ms: u64,
    /// Longest time with all retries, in milliseconds.
    pub schedule_to_close_ms: u64,
    /// Longest time of a snapshot load with all retries where injection errors are ignored, in
    /// milliseconds: what a turn waits for an unreachable store.
    pub snapshot_give_up_ms: u64,
}

impl Default for ActivitySettings {
    fn default() -> Self {
        Self {
            queue: ActivityQueue::default(),
            start_to_close_ms: 10_000,
            schedule_to_close_ms: 5 * 60_000,
            snapshot_give_up_ms: 10_000,
        }
    }
}

impl ActivitySettings {
    pub(crate) fn check(&self) -> Result<(), String> {
        let times = [
            ("activities.start_to_close_ms", self.start_to_close_ms),
            ("activities.schedule_to_close_ms", self.schedule_to_close_ms),
            ("activities.snapshot_give_up_ms", self.snapshot_give_up_ms),
        ];
        for (name, value) in times {
            check_timeout(name, value)?;
        }
        match &self.queue {
            ActivityQueue::Named(name) => check_name("activities.queue", name),
            ActivityQueue::Workflow | ActivityQueue::Local => Ok(()),
        }
    }

    /// Options for one activity call under this id.
    pub(crate) fn options(&self, activity_id: String) -> CallOptions {
        self.options_within(activity_id, self.schedule_to_close_ms)
    }

    /// Options for one activity call that ends within `schedule_to_close_ms`, on the task queue of a
    /// workspace where that has one.
    pub(crate) fn options_at(
        &self,
        own_queue: Option<String>,
        activity_id: String,
        schedule_to_close_ms: u64,
    ) -> CallOptions {
        match own_queue {
            Some(_) => CallOptions::queued(
                activity_id,
                own_queue,
                self.start_to_close_ms,
                schedule_to_close_ms,
            ),
            None => self.options_within(activity_id, schedule_to_close_ms),
        }
    }

    /// Options for one activity call that ends within `schedule_to_close_ms`.
    pub(crate) fn options_within(
        &self,
        activity_id: String,
        schedule_to_close_ms: u64,
    ) -> CallOptions {
        match &self.queue {
            ActivityQueue::Local => {
                CallOptions::local(activity_id, self.start_to_close_ms, schedule_to_close_ms)
            }
            queue => CallOptions::queued(
                activity_id,
                queue.task_queue(),
                self.start_to_close_ms,
                schedule_to_close_ms,
            ),
        }
    }
}
