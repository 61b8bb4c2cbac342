//! The handle `Recall` in a workflow of somebody else's: each method.

use std::{collections::BTreeMap, sync::Arc};

use notekeeper_activities::{Notebook, NotebookActivities, Sources, Stores};
use notekeeper_contract::ChatToolCall;
use notekeeper_domain::{Item, ItemMetadata, OperationId, Where};
use notekeeper_recall::{ScratchpadSource, Source, VectorSource};
use notekeeper_store::Store;
use notekeeper_workflows::{
    ActivityQueue, ActivitySettings, CallFailure, Grounded, Grounding, GroundingFormat, Recall,
    RecallSettings, RecallTool, Session,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

use crate::support::{Bed, Hosted};

/// Whose handbook.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reader {
    customer: String,
}

/// What the handles answered, in the order of the calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Heard {
    before: Vec<String>,
    accepted: Vec<Vec<String>>,
    found: Vec<(String, Option<String>, Value)>,
    public: Vec<String>,
    hours: Vec<String>,
    pad: Vec<String>,
    pad_by_activity: Vec<String>,
    pad_after_write: Vec<String>,
    pad_after_writing_back: [BTreeMap<String, Value>; 2],
    grounded: Vec<Grounded>,
    by_code: String,
    by_tool: (String, Option<String>),
    refused: Option<String>,
}

/// Uses each method of the handle.
#[workflow]
#[derive(Default)]
struct Librarian;

#[workflow_methods]
impl Librarian {
    #[run(name = "Librarian")]
    async fn run(ctx: &mut WorkflowContext<Self>, reader: Reader) -> WorkflowResult<Heard> {
        let session = Session::new();
        let open = |source: &str| {
            let settings = RecallSettings {
                source: source.to_owned(),
                activities: ActivitySettings {
                    queue: ActivityQueue::Workflow,
                    ..ActivitySettings::default()
                },
                ..RecallSettings::default()
            };
            session.recall(settings, &reader, |reader: &Reader| {
                format!("customers/{}", reader.customer)
            })
        };
        let (handbook, pad) = (open("handbook")?, open("pad")?);
        let mut heard = Heard::default();
        write_and_query(ctx, &handbook, &mut heard).await?;
        use_the_scratchpad(ctx, &pad, &mut heard).await?;
        ground(ctx, &handbook, &mut heard).await?;
        call_the_tool(ctx, &session, &handbook, &mut heard).await?;
        Ok(heard)
    }
}

fn public() -> Where {
    Where::of_value(json!({"tier": "public"})).expect("an object")
}

fn passage(content: &str, id: &str, tier: &str) -> Item {
    let metadata = ItemMetadata::of_value(json!({"tier": tier})).expect("an object");
    Item::new(content, "passed over")
        .with_id(id)
        .with_metadata(metadata)
}

fn contents(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| item.content.clone()).collect()
}

async fn write_and_query<W>(
    ctx: &WorkflowContext<W>,
    handbook: &Recall,
    heard: &mut Heard,
) -> Result<(), CallFailure> {
    let before = handbook.query(ctx, "refunds").await?;
    heard.before = contents(&before.items);
    let kept = handbook
        .write(
            ctx,
            [
                passage("Refunds take 5 business days.", "1", "public"),
                passage("Refunds: the internal runbook.", "2", "internal"),
                Item::new("Store credit never expires.", "passed over"),
            ],
        )
        .await?;
    heard.accepted.push(kept.accepted);
    let none = handbook.write(ctx, []).await?;
    heard.accepted.push(none.accepted);
    // What a reset repeats draws another operation, and an item without an id gets another one.
    for day in ["monday", "tuesday", "monday"] {
        let operation = OperationId::from_parts(&["import", day]);
        let item = Item::new(format!("Opening hours of {day}."), "");
        let kept = handbook.write_with(ctx, operation, [item]).await?;
        heard.accepted.push(kept.accepted);
    }
    let hours = handbook.query_with(ctx, "opening hours", 10, &Where::default());
    let hours = contents(&hours.await?.items);
    heard.hours = hours
        .into_iter()
        .filter(|it| it.contains("hours"))
        .collect();
    let found = handbook.query_with(ctx, "how long do refunds take", 3, &Where::default());
    let found = found.await?;
    assert!(found.is_whole());
    let told = |item: &Item| {
        let metadata = Value::Object(item.metadata.to_object());
        (item.content.clone(), item.id.clone(), metadata)
    };
    heard.found = found.items.iter().map(told).collect();
    let found = handbook.query_with(ctx, "refunds", 1, &public()).await?;
    heard.public = contents(&found.items);
    Ok(())
}

async fn use_the_scratchpad<W>(
    ctx: &WorkflowContext<W>,
    pad: &Recall,
    heard: &mut Heard,
) -> Result<(), CallFailure> {
    pad.put("customer", "Ada");
    pad.put("order", json!({"number": 7}));
    pad.put("gone", "x");
    pad.remove("gone");
    heard.pad = contents(&pad.query_scratchpad("the customer", 5, &Where::default()));
    // The same through the activity: the entries travel with the query.
    let found = pad.query(ctx, "the customer").await?;
    heard.pad_by_activity = contents(&found.items);
    pad.write(ctx, [Item::new("Lin", "").with_id("customer")])
        .await?;
    heard.pad_after_write = contents(&pad.query_scratchpad("", 5, &Where::default()));
    // What was found is written back as it is, with a key that no id can hold, and with values that are no texts.
    pad.put("k".repeat(500), json!([1, 2]));
    let found = pad.query_scratchpad("", 5, &Where::default());
    let before = pad.scratchpad();
    pad.write(ctx, found).await?;
    heard.pad_after_writing_back = [before, pad.scratchpad()];
    Ok(())
}

async fn ground<W>(
    ctx: &WorkflowContext<W>,
    handbook: &Recall,
    heard: &mut Heard,
) -> WorkflowResult<()> {
    let once = handbook.as_grounder(Grounding {
        k: Some(1),
        ..Grounding::default()
    })?;
    for question in ["refunds", "store credit"] {
        heard.grounded.push(once.ground(ctx, question).await?);
    }
    let resumed = handbook.as_grounder(Grounding::default())?;
    resumed.resume(once.held());
    heard
        .grounded
        .push(resumed.ground(ctx, "store credit").await?);
    resumed.forget();
    assert_eq!(resumed.held(), None);
    let each = handbook.as_grounder(Grounding {
        k: Some(1),
        reground_every_turn: true,
        ..Grounding::default()
    })?;
    for question in ["refunds", "store credit"] {
        heard.grounded.push(each.ground(ctx, question).await?);
    }
    let by_code = handbook.as_grounder(Grounding {
        condition: Some(public()),
        header: "Known:".to_owned(),
        format: GroundingFormat::code(|items| {
            let lines = items
                .iter()
                .map(|it| format!("- {} ({})", it.content, it.source));
            lines.collect::<Vec<_>>().join("\n")
        }),
        ..Grounding::default()
    })?;
    heard.by_code = by_code.ground(ctx, "refunds").await?.text;
    Ok(())
}

async fn call_the_tool<W>(
    ctx: &WorkflowContext<W>,
    session: &Session,
    handbook: &Recall,
    heard: &mut Heard,
) -> WorkflowResult<()> {
    let tool = handbook.tool(RecallTool {
        k: Some(1),
        ..RecallTool::default()
    })?;
    let call = |arguments: Value| ChatToolCall {
        id: String::new(),
        name: tool.definition().name,
        arguments,
    };
    let calls = [
        call(json!({"query": "store credit"})),
        call(json!({"question": "?"})),
    ];
    let calls = session.next_step(ctx).calls(&calls);
    let told = tool.call_tool(ctx, &calls[0]).await?;
    heard.by_tool = (told.content, told.refused);
    heard.refused = tool.call_tool(ctx, &calls[1]).await?.refused;
    Ok(())
}

async fn heard(bed: &Bed, customer: &str) -> Heard {
    let id = format!("{}-{customer}", bed.schema);
    let options = WorkflowStartOptions::new(&bed.workflow_task_queue, id).build();
    let reader = Reader {
        customer: customer.to_owned(),
    };
    let started = bed.client.start_workflow(Librarian::run, reader, options);
    let run = started.await.expect("start the workflow");
    run.get_result(WorkflowGetResultOptions::default())
        .await
        .expect("a result")
}

#[tokio::test]
async fn a_workflow_asks_writes_grounds_and_offers_a_source_by_its_handle_and_tenants_are_apart() {
    let bed = Bed::new().await;
    let stores: [(String, Arc<dyn Store>); 1] =
        [("default".to_owned(), Arc::new(bed.store.clone()))];
    let handbook: Arc<dyn Source> = Arc::new(VectorSource::in_memory("handbook"));
    let pad: Arc<dyn Source> = Arc::new(ScratchpadSource::new("pad"));
    let sources = Sources::new([("handbook".to_owned(), handbook), ("pad".to_owned(), pad)]);
    let notebook = Notebook::new(Stores::new(stores)).with_sources(sources);
    let mut options = temporalio_sdk::WorkerOptions::new(bed.workflow_task_queue.as_str())
        .register_activities(NotebookActivities::new(notebook))
        .build();
    options
        .register_workflow::<Librarian>()
        .expect("a new type");
    let hosted = Hosted::start(bed.client.clone(), options).await;

    let ada = heard(&bed, "ada").await;
    let lin = heard(&bed, "lin").await;

    assert_eq!(ada.before, [""; 0]);
    let handbook = || vec!["handbook".to_owned()];
    let accepted = [handbook(), vec![], handbook(), handbook(), handbook()];
    assert_eq!(ada.accepted, accepted);
    let mut hours = ada.hours.clone();
    hours.sort();
    assert_eq!(
        hours,
        ["Opening hours of monday.", "Opening hours of tuesday."]
    );
    assert_eq!(ada.found[0].0, "Refunds take 5 business days.");
    assert_eq!(ada.found[0].1.as_deref(), Some("1"));
    assert_eq!(ada.found[0].2, json!({"tier": "public"}));
    assert_eq!(ada.public, ["Refunds take 5 business days."]);
    assert_eq!(ada.pad, ["customer: Ada"]);
    assert_eq!(ada.pad_by_activity, ada.pad);
    assert_eq!(
        ada.pad_after_write,
        ["customer: Lin", r#"order: {"number":7}"#]
    );
    let [before, after] = &ada.pad_after_writing_back;
    assert_eq!(before.len(), 3);
    assert_eq!(after, before);
    let texts: Vec<_> = ada.grounded.iter().map(|it| it.text.as_str()).collect();
    let (refunds, credit) = (&ada.grounded[0].text, &ada.grounded[4].text);
    assert_eq!(texts, [refunds, refunds, refunds, refunds, credit]);
    assert_eq!(refunds.lines().next(), Some("Relevant context:"));
    assert!(refunds.contains("[handbook] Refunds"), "{refunds}");
    assert_eq!(
        credit,
        "Relevant context:\n[handbook] Store credit never expires."
    );
    assert_eq!(
        ada.by_code,
        "Known:\n- Refunds take 5 business days. (handbook)"
    );
    assert!(
        ada.by_tool.0.contains("Store credit never expires."),
        "{ada:?}"
    );
    assert_eq!(ada.by_tool.1, None);
    assert_eq!(ada.refused.as_deref(), Some("invalid_arguments"));
    let without_ids = |heard: &Heard| {
        let mut found = heard.found.clone();
        found.iter_mut().for_each(|it| it.1 = None);
        (heard.before.clone(), found, heard.grounded.clone())
    };
    assert_eq!(
        without_ids(&lin),
        without_ids(&ada),
        "another tenant begins with nothing"
    );
    hosted.stop().await;
    bed.finish().await;
}
