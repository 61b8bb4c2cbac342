//! `notekeeper messages add`: add messages at the end of a conversation.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use notekeeper_contract::{
    AddMessagesInput, AddMessagesOutput, FailureType, OperationRef, RESULT_BYTES_MAX,
};
use notekeeper_domain::{
    CONVERSATION_DEFAULT, MESSAGES_ADDED_MAX, OPERATION_ID_CHARS_MAX, OperationId, StoredMessage,
};
use serde::Serialize;

use crate::{
    commands::access::{
        Access, Effect, INCOMPLETE, OperationArgs, Place, Purpose, Remedy, ScopeArgs, already,
        coded, told_if_unsure,
    },
    exit::Exit,
    output::{CodedError, print, print_json, shown_name},
};

use super::{check_conversation, given, messages};

#[derive(Debug, Args)]
#[command(after_help = "\
The messages come from standard input, as JSON lines or as JSON arrays: objects with a `role`, in the \
form of this program's own transcripts, of OpenAI's Chat Completions, or of Anthropic's Messages. All \
are checked first: where one can't be kept, the error names its line and place, and none is added. \
They are added 1,000 at a time, or as many as have 1 MiB together; each such batch lies side by side, \
whoever else adds messages meanwhile.

Examples:
  notekeeper messages add travel --namespace customers/ada < messages.jsonl
  jq .messages request.json | notekeeper messages add travel --namespace customers/ada
  notekeeper messages add --namespace team --operation-id import-7 < messages.jsonl")]
pub(crate) struct AddArgs {
    /// Id of the conversation, which is begun where there is none.
    #[arg(value_name = "CONVERSATION", default_value = CONVERSATION_DEFAULT)]
    conversation: String,

    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    pub(super) at: ScopeArgs,
}

/// What was added, as it is printed.
#[derive(Serialize)]
struct Added {
    conversation: String,
    /// How many messages.
    added: usize,
    /// Position of the first of them.
    first: u64,
    /// Position after the last of them.
    next: u64,
    /// Whether all had been added before.
    replayed: bool,
    operation: OperationRef,
}

/// Messages that are added at once, under an identity of their own.
struct Batch {
    messages: Vec<StoredMessage>,
    operation: OperationRef,
}

pub(super) async fn run(config: Option<&Path>, args: AddArgs) -> anyhow::Result<ExitCode> {
    let AddArgs {
        conversation,
        operation,
        at,
    } = args;
    check_conversation(&conversation)?;
    let scope = at.scope()?;
    if io::stdin().is_terminal() {
        bail!("there are no messages; give them on standard input, as JSON lines or a JSON array");
    }
    let given = given::read(io::stdin())?;
    let operation = operation.operation();
    let count = given.len();
    let batches = batches(given, &operation)?;
    let template = AddMessagesInput {
        store: at.store.clone(),
        workspace: None,
        scope,
        conversation: conversation.clone(),
        messages: Vec::new(),
        operation: None,
    };
    let answers = Place::of_transcripts_and_facts(&at, Purpose::Make)
        .with_access(config, async |memory| {
            add(memory, &template, batches, &operation).await
        })
        .await?;
    let (Some(first), Some(last)) = (answers.first(), answers.last()) else {
        bail!("there are no messages");
    };
    report(
        Added {
            conversation,
            added: count,
            first: first.first,
            next: last.next,
            replayed: answers.iter().all(|answer| answer.replayed),
            operation,
        },
        at.output.json,
    )?;
    Ok(Exit::Done.into())
}

/// Adds one batch after the other.
async fn add(
    memory: &Access,
    template: &AddMessagesInput,
    batches: Vec<Batch>,
    operation: &OperationRef,
) -> anyhow::Result<Vec<AddMessagesOutput>> {
    let total: usize = batches.iter().map(|batch| batch.messages.len()).sum();
    let mut answers = Vec::new();
    let (mut added, mut newly) = (0, 0);
    for batch in batches {
        let count = batch.messages.len();
        let values = batch.messages.into_iter().map(StoredMessage::into_value);
        let input = AddMessagesInput {
            messages: values.collect(),
            operation: Some(batch.operation),
            ..template.clone()
        };
        match memory.add_messages(input).await {
            Ok(answer) => {
                if !answer.replayed {
                    newly += count;
                }
                answers.push(answer);
            }
            Err(error) if added > 0 && is_conflict(&error) => {
                return Err(changed_since(added, newly, operation));
            }
            Err(error) if added > 0 => return Err(incomplete(error, added, total, operation)),
            Err(error) => return Err(told_if_unsure(error, Remedy::Repeat(operation))),
        }
        added += count;
    }
    Ok(answers)
}

/// Messages in batches, as one call takes them.
fn batches(given: Vec<StoredMessage>, operation: &OperationRef) -> anyhow::Result<Vec<Batch>> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut bytes = 0;
    for message in given {
        bytes += message.as_json().len();
        match batches.last_mut() {
            Some(batch)
                if batch.messages.len() < MESSAGES_ADDED_MAX && bytes <= RESULT_BYTES_MAX =>
            {
                batch.messages.push(message);
            }
            _ => {
                bytes = message.as_json().len();
                batches.push(Batch {
                    operation: identity(operation, batches.len()),
                    messages: vec![message],
                });
            }
        }
    }
    // A later one must not be what nobody takes, once others have taken effect.
    for batch in &batches {
        if let Err(error) = OperationId::parse(&batch.operation.id) {
            let what = match OperationId::parse(&operation.id) {
                Err(_) => error.to_string(),
                Ok(_) => too_long(operation, batches.len()),
            };
            return Err(coded(
                FailureType::InvalidArgument.as_str(),
                format!("--operation-id: {what}"),
            ));
        }
    }
    Ok(batches)
}

/// What is said of an identity that fits, but not with what later batches have behind it.
fn too_long(operation: &OperationRef, batches: usize) -> String {
    let last = identity(operation, batches - 1).id.len();
    let most = OPERATION_ID_CHARS_MAX - (last - operation.id.len());
    format!(
        "the messages are added in {batches} parts, each with the id and a number behind it; give one \
         of at most {most} characters"
    )
}

/// The first batch has the identity that was given, so that most calls have it.
fn identity(operation: &OperationRef, batch: usize) -> OperationRef {
    let id = match batch {
        0 => operation.id.clone(),
        later => format!("{}#{}", operation.id, later + 1),
    };
    OperationRef { id }
}

fn is_conflict(error: &anyhow::Error) -> bool {
    let coded = error.downcast_ref::<CodedError>();
    coded.is_some_and(|coded| coded.code == FailureType::OperationConflict.as_str())
}

/// What is said where the first messages are those of an earlier call with the identity, and later ones aren't.
fn changed_since(same: usize, newly: usize, operation: &OperationRef) -> anyhow::Error {
    let (code, done) = match newly {
        0 => (
            FailureType::OperationConflict.as_str(),
            "nothing was added now".to_owned(),
        ),
        newly => (INCOMPLETE, format!("{newly} messages were added now")),
    };
    coded(
        code,
        format!(
            "`--operation-id {}` was used before for something else from message {} on; {done}; repeat it \
             with the input of then, or give what is new under an id of its own",
            operation.id,
            same + 1
        ),
    )
}

fn incomplete(
    error: anyhow::Error,
    added: usize,
    total: usize,
    operation: &OperationRef,
) -> anyhow::Error {
    let rest = match Effect::of(&error) {
        Effect::Unknown => " (more perhaps)",
        Effect::Nothing | Effect::Part => "",
    };
    coded(
        INCOMPLETE,
        format!(
            "{added} of {total} messages were added{rest}: {error:#}; repeat it with the same input \
             and `--operation-id {}`, which adds the others alone",
            operation.id
        ),
    )
}

fn report(added: Added, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(&added);
    }
    let Added {
        conversation,
        added,
        first,
        next,
        replayed,
        ..
    } = added;
    let count = messages(u64::try_from(added)?);
    print(&format!(
        "added {count} to {}, from position {first} to {}{}\n",
        shown_name(&conversation),
        next.saturating_sub(1),
        already(replayed)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(chars: usize) -> StoredMessage {
        let content = "x".repeat(chars);
        StoredMessage::new(json!({"role": "user", "content": content})).expect("a message")
    }

    fn sizes(given: Vec<StoredMessage>) -> Vec<(usize, String)> {
        let operation = OperationRef {
            id: "op".to_owned(),
        };
        let batches = batches(given, &operation).expect("batches");
        let size = |batch: Batch| (batch.messages.len(), batch.operation.id);
        batches.into_iter().map(size).collect()
    }

    #[test]
    fn batches_are_as_large_as_a_call_takes_and_have_identities_of_their_own() {
        let of = |size, id: &str| (size, id.to_owned());
        assert_eq!(sizes(vec![message(1); 1_000]), [of(1_000, "op")]);
        assert_eq!(
            sizes(vec![message(1); 2_001]),
            [of(1_000, "op"), of(1_000, "op#2"), of(1, "op#3")]
        );
        assert_eq!(
            sizes(vec![message(500_000); 5]),
            [of(2, "op"), of(2, "op#2"), of(1, "op#3")]
        );
    }

    #[test]
    fn an_identity_too_long_for_a_later_batch_is_refused_before_anything_is_added() {
        let operation = OperationRef {
            id: "x".repeat(200),
        };
        assert!(batches(vec![message(1); 1_000], &operation).is_ok());
        let Err(error) = batches(vec![message(1); 1_001], &operation) else {
            panic!("the second batch has 202 characters");
        };
        assert_eq!(
            error.to_string(),
            "--operation-id: the messages are added in 2 parts, each with the id and a number behind it; \
             give one of at most 198 characters"
        );
        let operation = OperationRef {
            id: "x".repeat(198),
        };
        assert!(batches(vec![message(1); 1_001], &operation).is_ok());
        let odd = OperationRef {
            id: "é".to_owned()
        };
        let Err(error) = batches(vec![message(1)], &odd) else {
            panic!("it isn't ASCII");
        };
        let said = "--operation-id: operation id must be 1 to 200 printable ASCII characters";
        assert_eq!(error.to_string(), said);
    }

    #[test]
    fn other_messages_under_a_used_identity_are_told_from_where_they_differ_and_what_was_added() {
        let operation = OperationRef {
            id: "big1".to_owned(),
        };
        let told = changed_since(2_000, 0, &operation);
        assert!(is_conflict(&told));
        assert_eq!(
            told.to_string(),
            "`--operation-id big1` was used before for something else from message 2001 on; nothing was \
             added now; repeat it with the input of then, or give what is new under an id of its own"
        );
        let told = changed_since(2_000, 1_000, &operation);
        assert_eq!(Effect::of(&told), Effect::Part);
        assert!(
            told.to_string()
                .contains("; 1000 messages were added now; ")
        );
    }
}
