//! A worker's activities, called by a client without a workflow.

use std::time::Duration;

use notekeeper_activities::{ExpectedNote, ReplaceWhole};
use notekeeper_contract::{
    Argument, DeleteMemory, DeleteMemoryInput, DeletedMemory, FailureType, ListMemory,
    ListMemoryInput, ListedMemory, MemoryContent, MemoryMatches, Outcome, ReadMemory,
    ReadMemoryInput, Refused, SearchMemory, SearchMemoryInput, WriteMemory, WriteMemoryInput,
    WrittenMemory,
};
use notekeeper_domain::{NOTE_CHARS_MAX_DEFAULT, Refusal};
use temporalio_client::{
    ActivityStartOptions, Client, RetryPolicy,
    errors::{ActivityResultError, StartActivityError},
    tonic::Code,
};
use temporalio_common::{
    ActivityCloseTimeouts, ActivityDefinition,
    protos::temporal::api::{
        enums::v1::TimeoutType,
        failure::v1::{Failure, failure::FailureInfo},
    },
};

use crate::{output::CodedError, random};

/// Longest attempt, as for workflows.
const START_TO_CLOSE: Duration = Duration::from_secs(10);

/// How often a whole text is put in place of one that keeps changing meanwhile.
const REPLACE_ATTEMPTS: u32 = 5;

/// A worker's activities.
pub(super) struct OverTemporal {
    pub(super) client: Client,
    /// Where the worker listens.
    pub(super) task_queue: String,
    /// How long it may take to begin.
    pub(super) begin_within: Duration,
}

impl OverTemporal {
    pub(super) async fn list(&self, input: ListMemoryInput) -> anyhow::Result<ListedMemory> {
        self.call(ListMemory, input).await
    }

    pub(super) async fn read(
        &self,
        input: ReadMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryContent>> {
        self.call(ReadMemory, input).await
    }

    pub(super) async fn search(
        &self,
        input: SearchMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryMatches>> {
        self.call(SearchMemory, input).await
    }

    pub(super) async fn write(
        &self,
        input: WriteMemoryInput,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        self.call(WriteMemory, input).await
    }

    pub(super) async fn delete(
        &self,
        input: DeleteMemoryInput,
    ) -> anyhow::Result<Outcome<DeletedMemory>> {
        self.call(DeleteMemory, input).await
    }

    /// Replaces a whole text by the means that activities have: the text that is there is read, and
    /// is the passage that is replaced.
    pub(super) async fn replace_whole(
        &self,
        input: ReplaceWhole,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        let mut attempt = 1;
        loop {
            let result = self.try_replace(&input).await;
            match &result {
                // Somebody else was faster, and whatever they wrote is to go as well.
                Err(error)
                    if input.expected == ExpectedNote::Any
                        && attempt < REPLACE_ATTEMPTS
                        && is_version_conflict(error) =>
                {
                    attempt += 1;
                }
                _ => return result,
            }
        }
    }

    async fn try_replace(&self, input: &ReplaceWhole) -> anyhow::Result<Outcome<WrittenMemory>> {
        let reading = ReadMemoryInput {
            store: input.store.clone(),
            scope: input.scope.clone(),
            file: input.file.clone(),
            max_memory_size: NOTE_CHARS_MAX_DEFAULT,
        };
        let current = match self.read(reading).await? {
            Outcome::Ok(note) if note.truncated => {
                let too_large = Refusal::ExistingTooLarge {
                    chars_max: NOTE_CHARS_MAX_DEFAULT,
                };
                return Ok(Outcome::Refused(too_large.into()));
            }
            Outcome::Ok(note) => Some(note),
            Outcome::Refused(Refused { reason, .. }) if reason == "not_found" => None,
            Outcome::Refused(refused) => return Ok(Outcome::Refused(refused)),
        };
        let version = match (&input.expected, &current) {
            (ExpectedNote::Absent, Some(_)) => return Err(version_conflict().into()),
            (ExpectedNote::Version(version), _) => Some(version.clone()),
            (ExpectedNote::Any | ExpectedNote::Absent, current) => {
                current.as_ref().map(|note| note.version.clone())
            }
        };
        let passage = current.map(|note| note.content);
        let write = WriteMemoryInput {
            store: input.store.clone(),
            scope: input.scope.clone(),
            operation: Some(input.operation.clone()),
            content: input.content.clone(),
            file: input.file.clone(),
            // Nothing can be put in place of nothing, but it can be added to it.
            old_text: passage.filter(|text| !text.is_empty()),
            expected_version: version,
            max_memory_size: input.max_memory_size,
        };
        self.write(write).await
    }

    async fn call<A, I>(&self, activity: A, input: I) -> anyhow::Result<A::Output>
    where
        A: ActivityDefinition<Input = Argument<I>>,
    {
        let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
            schedule_to_close: self.begin_within + START_TO_CLOSE,
            start_to_close: START_TO_CLOSE,
        };
        let retries = RetryPolicy::builder()
            .initial_interval(Duration::from_millis(200))
            .maximum_interval(Duration::from_secs(2))
            .build();
        let id = format!("notekeeper-note-{}", random::name());
        let options = ActivityStartOptions::new(&self.task_queue, id, timeouts)
            .schedule_to_start_timeout(self.begin_within)
            .retry_policy(retries)
            .build();
        let handle = self
            .client
            .start_activity(activity, Argument::from(input), options)
            .await
            .map_err(not_started)?;
        handle.result().await.map_err(|error| self.no_result(error))
    }

    /// Why there is no result, and what to do.
    fn no_result(&self, error: ActivityResultError) -> anyhow::Error {
        let ActivityResultError::ActivityFailed(error) = error else {
            return anyhow::Error::new(error).context("Temporal gave no result");
        };
        let failure = error.failure();
        match &failure.failure_info {
            Some(FailureInfo::TimeoutFailureInfo(info))
                if info.timeout_type() == TimeoutType::ScheduleToStart =>
            {
                self.nobody_began().into()
            }
            Some(FailureInfo::TimeoutFailureInfo(_)) => self.not_in_time(failure).into(),
            Some(FailureInfo::ApplicationFailureInfo(info)) => CodedError {
                code: info.r#type.clone(),
                message: failure.message.clone(),
            }
            .into(),
            _ => anyhow::anyhow!("Temporal gave no result: {}", failure.message),
        }
    }

    fn nobody_began(&self) -> CodedError {
        CodedError {
            code: "NoWorker".to_owned(),
            message: format!(
                "no worker took the activity from the task queue `{}` within {} s; start one with \
                 `notekeeper worker`, or name its queue with --task-queue",
                self.task_queue,
                self.begin_within.as_secs()
            ),
        }
    }

    /// It ran, perhaps several times, and came to nothing.
    fn not_in_time(&self, failure: &Failure) -> CodedError {
        let within = (self.begin_within + START_TO_CLOSE).as_secs();
        let last = failure.cause.as_ref().map_or_else(
            || "the worker gave no answer".to_owned(),
            |cause| cause.message.clone(),
        );
        CodedError {
            code: "Timeout".to_owned(),
            message: format!("the activity came to no result within {within} s: {last}"),
        }
    }
}

fn not_started(error: StartActivityError) -> anyhow::Error {
    match &error {
        StartActivityError::Rpc(status) if status.code() == Code::Unimplemented => {
            anyhow::anyhow!(
                "this Temporal server runs no activities without a workflow ({}); leave \
                 `--via temporal` out, or use a newer server",
                status.message()
            )
        }
        _ => anyhow::Error::new(error).context("Temporal doesn't take the activity"),
    }
}

fn version_conflict() -> CodedError {
    CodedError {
        code: FailureType::VersionConflict.as_str().to_owned(),
        message: notekeeper_store::MutationError::VersionConflict.to_string(),
    }
}

/// Whether a change was refused because the note isn't at the expected version.
pub(super) fn is_version_conflict(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<CodedError>()
        .is_some_and(|coded| coded.code == FailureType::VersionConflict.as_str())
}
