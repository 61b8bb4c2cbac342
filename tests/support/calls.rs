//! Calls of single activities, as a client without a workflow makes them.

use std::time::Duration;

use serde_json::Value;
use temporalio_client::{
    ActivityDescribeOptions, ActivityHandle, ActivityStartOptions, Client, RetryPolicy,
    errors::ActivityResultError,
};
use temporalio_common::{
    ActivityCloseTimeouts, UntypedActivity,
    data_converters::RawValue,
    protos::temporal::api::{common::v1::Payload, failure::v1::Failure},
};

use super::{Bed, in_time, json_of};

/// An activity that was started on its own.
pub(crate) struct Call {
    handle: ActivityHandle<Client, UntypedActivity>,
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) outcome: Result<Value, Box<Failure>>,
    /// Attempts that it took.
    pub(crate) attempts: u32,
}

impl Called {
    /// The result of one that succeeded.
    pub(crate) fn result(&self) -> &Value {
        match &self.outcome {
            Ok(value) => value,
            Err(failure) => panic!("the activity failed: {failure:?}"),
        }
    }

    /// The failure of one that failed.
    pub(crate) fn failure(&self) -> &Failure {
        match &self.outcome {
            Ok(value) => panic!("the activity succeeded: {value}"),
            Err(failure) => failure,
        }
    }
}

/// A JSON payload, as any SDK sends it.
pub(crate) fn payload(json: &Value) -> Payload {
    raw_payload("json/plain", json.to_string().into_bytes())
}

/// A payload of any encoding.
pub(crate) fn raw_payload(encoding: &str, data: Vec<u8>) -> Payload {
    Payload {
        metadata: [("encoding".to_owned(), encoding.into())].into(),
        data,
        ..Payload::default()
    }
}

impl Bed {
    /// Calls an activity on the memory queue and waits for what it comes to.
    pub(crate) async fn call(&self, activity: &str, input: &Value) -> Called {
        self.start_call(activity, vec![payload(input)])
            .await
            .end()
            .await
    }

    /// Starts an activity on the memory queue, with any payloads. An attempt has 10 s.
    pub(crate) async fn start_call(&self, activity: &str, payloads: Vec<Payload>) -> Call {
        self.start_call_within(Duration::from_secs(10), activity, payloads)
            .await
    }

    /// Starts an activity whose attempts may take so long, and all of them 30 s.
    pub(crate) async fn start_call_within(
        &self,
        attempt: Duration,
        activity: &str,
        payloads: Vec<Payload>,
    ) -> Call {
        let timeouts = ActivityCloseTimeouts::ScheduleAndStartToClose {
            schedule_to_close: Duration::from_secs(30),
            start_to_close: attempt,
        };
        let id = format!("call-{:016x}", rand::random::<u64>());
        let retries = RetryPolicy::builder()
            .initial_interval(Duration::from_millis(100))
            .maximum_interval(Duration::from_millis(500))
            .build();
        let options = ActivityStartOptions::new(&self.task_queue, id, timeouts)
            .retry_policy(retries)
            .build();
        let handle = self
            .client
            .start_activity(
                UntypedActivity::new(activity),
                RawValue::new(payloads),
                options,
            )
            .await
            .expect("start the activity");
        Call { handle }
    }
}

impl Call {
    /// Waits for what it comes to.
    pub(crate) async fn end(self) -> Called {
        let outcome = match in_time("the end of an activity", self.handle.result()).await {
            Ok(raw) => Ok(raw.payloads.first().map(json_of).unwrap_or_default()),
            Err(ActivityResultError::ActivityFailed(error)) => {
                Err(Box::new(error.failure().clone()))
            }
            Err(other) => panic!("the activity came to neither result nor failure: {other:?}"),
        };
        let description = self.describe().await;
        Called {
            outcome,
            attempts: description.attempt(),
        }
    }

    /// Attempts so far.
    pub(crate) async fn attempts(&self) -> u32 {
        self.describe().await.attempt()
    }

    async fn describe(&self) -> temporalio_client::ActivityExecutionDescription<UntypedActivity> {
        self.handle
            .describe(ActivityDescribeOptions::default())
            .await
            .expect("describe the activity")
    }
}
