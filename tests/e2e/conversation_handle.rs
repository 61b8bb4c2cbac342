//! The handle `Conversation` in a workflow of somebody else's.

use notekeeper_contract::{ChatMessage, Outcome};
use notekeeper_workflows::{
    ActivityQueue, ActivitySettings, CallFailure, Conversation, ConversationSettings, Session,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

use crate::support::{Bed, Hosted, Worker};

/// Whose conversation, and where its activities run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Customer {
    name: String,
    task_queue: String,
}

/// What the handle answered, in the order of its calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Heard {
    before: Vec<String>,
    positions: Vec<(u64, u64)>,
    all: Vec<Value>,
    newest: Vec<Value>,
    statuses: Vec<String>,
    values: Vec<String>,
    keys: Vec<String>,
    truncated: bool,
    listed: Vec<(Vec<String>, bool)>,
    cleared: u64,
    left: Vec<Value>,
    facts_left: Vec<String>,
}

/// Uses each method of the handle once, and some twice.
#[workflow]
#[derive(Default)]
struct Clerk;

#[workflow_methods]
impl Clerk {
    #[run(name = "Clerk")]
    async fn run(ctx: &mut WorkflowContext<Self>, customer: Customer) -> WorkflowResult<Heard> {
        let settings = ConversationSettings {
            id: "desk".to_owned(),
            activities: ActivitySettings {
                queue: ActivityQueue::Named(customer.task_queue.clone()),
                ..ActivitySettings::default()
            },
            ..ConversationSettings::default()
        };
        let conversation = Session::new().converse(settings, &customer, |customer| {
            format!("customers/{}", customer.name)
        })?;
        Ok(use_all(ctx, &conversation).await?)
    }
}

async fn use_all<W>(
    ctx: &WorkflowContext<W>,
    conversation: &Conversation,
) -> Result<Heard, CallFailure> {
    let before = conversation.recall(ctx, "", 10).await?;
    let said = [ChatMessage::user("Tea?"), ChatMessage::user("Green.")];
    let first = conversation.add(ctx, said).await?;
    let other = json!({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]});
    let second = conversation.add(ctx, [other]).await?;
    let all = conversation.messages(ctx, None).await?;
    let newest = conversation.messages(ctx, Some(1)).await?;
    let mut statuses = Vec::new();
    for (key, value) in [
        ("tea", "black"),
        ("tea", "green"),
        ("city", "Lyon"),
        ("", "nothing"),
    ] {
        statuses.push(match conversation.remember(ctx, key, value).await? {
            Outcome::Ok(kept) => kept.status,
            Outcome::Refused(refused) => refused.reason,
        });
    }
    let values = conversation.recall(ctx, "green", 10).await?;
    let recalled = conversation.recall_facts(ctx, "", 10).await?;
    let mut listed = Vec::new();
    for after in [None, Some("city")] {
        let page = conversation.facts(ctx, after, 1).await?;
        let keys = page.facts.into_iter().map(|fact| fact.key).collect();
        listed.push((keys, page.more));
    }
    for key in ["tea", "tea"] {
        statuses.push(match conversation.forget(ctx, key).await? {
            Outcome::Ok(forgotten) => forgotten.status,
            Outcome::Refused(refused) => refused.reason,
        });
    }
    let cleared = conversation.clear(ctx).await?.cleared;
    Ok(Heard {
        before,
        positions: vec![(first.first, first.next), (second.first, second.next)],
        all,
        newest,
        statuses,
        values,
        truncated: recalled.truncated,
        keys: recalled.facts.into_iter().map(|fact| fact.key).collect(),
        listed,
        cleared,
        left: conversation.messages(ctx, None).await?,
        facts_left: conversation.recall(ctx, "", 10).await?,
    })
}

async fn served(bed: &Bed, name: &str) -> Heard {
    let options =
        WorkflowStartOptions::new(&bed.workflow_task_queue, format!("{}-{name}", bed.schema))
            .build();
    let customer = Customer {
        name: name.to_owned(),
        task_queue: bed.task_queue.clone(),
    };
    let started = bed.client.start_workflow(Clerk::run, customer, options);
    let run = started.await.expect("start the workflow");
    run.get_result(WorkflowGetResultOptions::default())
        .await
        .expect("a result")
}

#[tokio::test]
async fn a_workflow_uses_messages_and_facts_by_its_handle_and_tenants_are_apart() {
    let bed = Bed::new().await;
    let _activities = Worker::of_activities(&bed).await;
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str()).build();
    options.register_workflow::<Clerk>().expect("a new type");
    let hosted = Hosted::start(bed.client.clone(), options).await;

    let heard = served(&bed, "ada").await;
    let others = served(&bed, "lin").await;

    assert_eq!(heard.before, [""; 0]);
    assert_eq!(heard.positions, [(0, 2), (2, 3)]);
    let noted = json!({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]});
    let expected = [
        json!({"role": "user", "content": "Tea?"}),
        json!({"role": "user", "content": "Green."}),
        noted.clone(),
    ];
    assert_eq!(heard.all, expected);
    assert_eq!(heard.newest, [noted]);
    assert_eq!(
        heard.statuses,
        [
            "created",
            "updated",
            "created",
            "invalid_key",
            "deleted",
            "not_found"
        ]
    );
    assert_eq!(heard.values, ["green"]);
    assert_eq!(heard.keys, ["city", "tea"], "the latest first");
    assert_eq!((heard.cleared, heard.left.len()), (3, 0));
    assert_eq!(heard.facts_left, ["Lyon"], "clearing leaves facts");
    assert_eq!(others, heard, "another tenant begins with nothing");
    hosted.stop().await;
    bed.finish().await;
}
