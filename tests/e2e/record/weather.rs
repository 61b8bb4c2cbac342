//! A tool of an application.

#![expect(
    dead_code,
    reason = "the macro makes a constant of each activity, for workflow code"
)]

use anyhow::anyhow;
use notekeeper_contract::ToolInput;
use serde_json::{Value, json};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// Activities of an application.
pub(super) struct Weather;

#[activities]
impl Weather {
    #[activity(name = "look_up_weather")]
    async fn look_up(_: ActivityContext, input: ToolInput) -> Result<Value, ActivityError> {
        if input.arguments["city"] == "Kyoto" {
            return Ok(json!({"sky": "sunny"}));
        }
        let failure = ApplicationFailure::builder(anyhow!("there is no such city"))
            .type_name("NoSuchCity".to_owned())
            .non_retryable(true)
            .build();
        Err(failure.into())
    }
}
