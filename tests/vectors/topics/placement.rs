//! Where blocks stand: whole runs of an agent, with a model that answers from a script.
//!
//! What a workflow does between activities is done here by a plain loop over the same functions: load
//! the blocks, take out what earlier runs left, place the blocks in a copy, keep the conversation.

mod words;

use anyhow::{Context as _, anyhow};
use notekeeper_contract::{LoadSnapshotInput, SearchMemoryInput, SnapshotAnswer};
use notekeeper_domain::{
    Block, DELETE_MEMORY, Message, READ_MEMORY, SEARCH_MEMORY, Scope, ToolCall, UserPart,
    WRITE_MEMORY, place_blocks, remove_blocks, tool_name,
};
use notekeeper_store::{Expected, WriteRequest};
use notekeeper_workflows::{Memory, MemorySettings};
use serde_json::{Map, Value, json};

use words::Words;

use super::{
    configuration::{open_all, options},
    script::{Call, Tool},
};
use crate::{
    bench::{Bench, address},
    case::{Answer, Case, Fields, Stop},
    product::{call, decoded},
};

/// Runs a case.
pub(crate) async fn placement(case: &Case, bench: &Bench) -> Answer {
    let given = case.fields()?;
    let files = given.object("files")?;
    let memories = match given.get("memories") {
        None => vec![MemorySettings::default()],
        Some(_) => given
            .list("memories")?
            .iter()
            .map(memory)
            .collect::<Result<_, _>>()?,
    };
    let has_system_prompt = given.text_or_null("system_prompt")?.is_some();
    let history = match given.get_set("history") {
        None => &[],
        Some(_) => given.list("history")?,
    };
    let first = Run::of(&given)?;
    let then = match given.get_set("then") {
        None => None,
        Some(_) => Some(given.list("then")?),
    };
    given.done()?;
    put(bench, &entries(files)?).await?;
    let Ok(memories) = open_all(&memories) else {
        return Ok(json!({"error": "configuration"}));
    };
    let mut agent = Agent::new(bench, memories, has_system_prompt && history.is_empty());
    agent.remember(history)?;
    let mut requests = vec![agent.run(&first).await?];
    for run in then.into_iter().flatten() {
        let fields = Fields::of("given.then", run)?;
        let next = Run::of(&fields)?;
        if fields.get("before").is_some() {
            put(bench, &entries(fields.object("before")?)?).await?;
        }
        fields.done()?;
        requests.push(agent.run(&next).await?);
    }
    let requests = match then {
        None => requests.remove(0),
        Some(_) => json!(requests),
    };
    let history = agent.history.clone();
    Ok(json!({"requests": requests, "history_after": agent.shown(&history)}))
}

/// The settings of one of the memories.
fn memory(given: &Value) -> Result<MemorySettings, Stop> {
    let fields = Fields::of("given.memories", given)?;
    let mut settings = options(&fields)?;
    if let Some(inject) = fields.get("inject") {
        settings.insert("inject_memory".to_owned(), inject.clone());
    }
    fields.done()?;
    MemorySettings::from_spec(Value::Object(settings)).map_err(|error| anyhow!(error).into())
}

/// Notes by their paths.
fn entries(fields: Fields<'_>) -> Result<Vec<(String, Value)>, Stop> {
    let paths: Vec<String> = fields.keys().map(str::to_owned).collect();
    let notes = paths
        .into_iter()
        .map(|path| Ok((path.clone(), fields.need(&path)?.clone())))
        .collect::<Result<_, Stop>>()?;
    fields.done()?;
    Ok(notes)
}

/// Puts notes into the store, as somebody outside would; null takes one away.
async fn put(bench: &Bench, notes: &[(String, Value)]) -> Result<(), Stop> {
    for (path, text) in notes {
        let (scope, name) = address(path).with_context(|| format!("`{path}` names no note"))?;
        match text.as_str() {
            Some(content) => {
                let request = WriteRequest::new(content, &Expected::Any);
                bench.store.write(&scope, &name, &request, None).await?;
            }
            None => {
                bench
                    .store
                    .delete(&scope, &name, &Expected::Any, None)
                    .await?;
            }
        }
    }
    Ok(())
}

/// One run: the user's prompt and what the model answers.
struct Run<'a> {
    prompt: Option<&'a str>,
    script: &'a [Value],
    /// What somebody outside writes after the request with this number.
    edits: Vec<(usize, Vec<(String, Value)>)>,
}

impl<'a> Run<'a> {
    fn of(fields: &Fields<'a>) -> Result<Self, Stop> {
        let mut edits = Vec::new();
        if fields.get_set("edits").is_some() {
            let given = fields.object("edits")?;
            let numbers: Vec<String> = given.keys().map(str::to_owned).collect();
            for number in numbers {
                edits.push((number.parse()?, entries(given.object(&number)?)?));
            }
            given.done()?;
        }
        Ok(Self {
            prompt: fields.text_or_null("prompt")?,
            script: fields.list("script")?,
            edits,
        })
    }
}

struct Agent<'a> {
    bench: &'a Bench,
    memories: Vec<Memory>,
    /// Whether instructions stand before the first request. They are no part of a conversation here.
    has_instructions: bool,
    history: Vec<Message>,
    words: Words,
    runs: u64,
}

impl<'a> Agent<'a> {
    fn new(bench: &'a Bench, memories: Vec<Memory>, has_instructions: bool) -> Self {
        let mut words = Words::default();
        for memory in &memories {
            words.know(memory.scope().clone());
        }
        Self {
            bench,
            has_instructions,
            history: Vec::new(),
            words,
            memories,
            runs: 0,
        }
    }

    /// Takes in messages of earlier runs.
    fn remember(&mut self, given: &[Value]) -> Result<(), Stop> {
        for message in given {
            let fields = Fields::of("given.history", message)?;
            let parts = fields.list("parts")?;
            match fields.text("role")? {
                "request" => self.remember_request(parts)?,
                "response" => self.history.push(response(parts)?),
                _ => return Err(fields.complain("role", "is neither request nor response")),
            }
            fields.done()?;
        }
        Ok(())
    }

    fn remember_request(&mut self, parts: &[Value]) -> Result<(), Stop> {
        let mut said: Option<Vec<UserPart>> = parts.is_empty().then(Vec::new);
        for part in parts {
            let part = match part.as_str().and_then(|text| text.split_once(':')) {
                Some(("user", text)) => UserPart::Text {
                    text: text.to_owned(),
                },
                Some(("tool_return", id)) => {
                    let parts = said.take();
                    self.history
                        .extend(parts.map(|parts| Message::User { parts }));
                    self.history.push(result(id));
                    continue;
                }
                Some(_) => return Err(Stop::NotUnderstood(format!("the part {part}"))),
                None => self.left_block(part)?,
            };
            said.get_or_insert_default().push(part);
        }
        self.history
            .extend(said.map(|parts| Message::User { parts }));
        Ok(())
    }

    /// A block that an earlier run left.
    fn left_block(&mut self, part: &Value) -> Result<UserPart, Stop> {
        let fields = Fields::of("a part of given.history", part)?;
        let block = fields.object("memory")?;
        fields.done()?;
        let text = block.text("text")?.to_owned();
        let scope = Scope::parse(block.text_or_null("scope")?.unwrap_or("main"))?;
        // The peer has had several ways to say whose block it is; one of them says nothing.
        let scope_hash = match block.text_or_null("form")? {
            None | Some("current" | "scoped_string") => scope.hash(),
            Some("bare") => String::new(),
            Some(_) => return Err(block.complain("form", "is not known")),
        };
        block.done()?;
        self.words.number(&text);
        self.words.know(scope);
        Ok(UserPart::Memory { scope_hash, text })
    }

    /// Runs until the model answers with text alone. Says what it was sent.
    async fn run(&mut self, run: &Run<'_>) -> Answer {
        self.runs += 1;
        let mut calls = 0;
        match (run.prompt, self.history.last()) {
            (Some(prompt), _) => self.history.push(Message::user(prompt)),
            (None, Some(Message::Assistant { tool_calls, .. })) => {
                // Calls that waited for an approval are carried out now.
                let waiting = tool_calls.clone();
                if waiting.is_empty() {
                    return Ok(json!([]));
                }
                for waited in waiting {
                    self.carry_out(waited).await?;
                }
            }
            (None, _) => {}
        }
        let mut requests = Vec::new();
        for (number, answer) in run.script.iter().enumerate() {
            let sent = self.request().await?;
            requests.push(self.shown(&sent));
            for (_, notes) in run.edits.iter().filter(|(after, _)| *after == number) {
                put(self.bench, notes).await?;
            }
            let answer = Fields::of("given.script", answer)?;
            let text = answer.text_or_null("text")?;
            let tool = answer.text_or_null("tool")?;
            let arguments = answer.get("args").cloned().unwrap_or_else(|| json!({}));
            answer.done()?;
            let tool_calls = tool.map(|name| ToolCall {
                id: format!("c{calls}"),
                name: name.to_owned(),
                arguments,
            });
            self.history.push(Message::Assistant {
                text: text.unwrap_or_default().to_owned(),
                tool_calls: tool_calls.iter().cloned().collect(),
            });
            match tool_calls {
                Some(call) => self.carry_out(call).await?,
                None => break,
            }
            calls += 1;
        }
        Ok(json!(requests))
    }

    /// The messages of the next request.
    async fn request(&mut self) -> Result<Vec<Message>, Stop> {
        let shown = |memory: &&Memory| memory.settings().inject_memory;
        let shown: Vec<&Memory> = self.memories.iter().filter(shown).collect();
        let memories = shown
            .iter()
            .map(|memory| memory.snapshot_request())
            .collect();
        let loaded = self
            .bench
            .notebook
            .load_snapshot(LoadSnapshotInput { memories });
        let loaded = loaded.await.map_err(|failure| anyhow!("{failure}"))?;
        let mut blocks = Vec::new();
        for (memory, answer) in shown.iter().zip(loaded.snapshots) {
            match answer {
                SnapshotAnswer::Block {
                    text: Some(text), ..
                } => blocks.push(Block {
                    scope_hash: memory.scope().hash(),
                    text,
                }),
                SnapshotAnswer::Empty { .. } => {}
                other => return Err(anyhow!("{other:?}").into()),
            }
        }
        let hashes: Vec<String> = self.memories.iter().map(|it| it.scope().hash()).collect();
        let hashes: Vec<&str> = hashes.iter().map(String::as_str).collect();
        remove_blocks(&mut self.history, &hashes);
        let mut sent = self.history.clone();
        place_blocks(&mut sent, blocks);
        Ok(sent)
    }

    /// Carries a call out. What becomes of it is not shown, only that it was answered.
    async fn carry_out(&mut self, made: ToolCall) -> Result<(), Stop> {
        for memory in &self.memories {
            if memory.owns_tool(&made.name) {
                self.call_memory(memory, &made).await?;
            }
        }
        self.history.push(result(&made.id));
        Ok(())
    }

    async fn call_memory(&self, memory: &Memory, made: &ToolCall) -> Result<(), Stop> {
        let is = |tool| tool_name(&memory.settings().prefix, tool) == made.name;
        let tool = match () {
            () if is(WRITE_MEMORY) => Tool::Write,
            () if is(READ_MEMORY) => Tool::Read,
            () if is(DELETE_MEMORY) => Tool::Delete,
            () if is(SEARCH_MEMORY) => {
                let mut input = made.arguments.clone();
                input["scope"] = serde_json::to_value(memory.scope_ref())?;
                if let Ok(input) = decoded::<SearchMemoryInput>(&input)? {
                    self.bench
                        .notebook
                        .search(input)
                        .await
                        .map_err(|failure| anyhow!("{failure}"))?;
                }
                return Ok(());
            }
            () => return Ok(()),
        };
        let scope = memory.scope();
        let arguments: Map<String, Value> = made.arguments.as_object().cloned().unwrap_or_default();
        let one = Call {
            tool,
            scope: (scope.namespace().to_owned(), scope.agent_name().to_owned()),
            identity: (
                format!("run-{}", self.runs),
                self.history.len() as u64,
                made.id.clone(),
            ),
            arguments,
            note_chars_max: None,
        };
        call(self.bench, &one).await.map(drop)
    }

    /// Messages in the words of the cases: everything between two responses is one request.
    fn shown(&mut self, messages: &[Message]) -> Value {
        let mut shown: Vec<(&str, Vec<String>)> = Vec::new();
        for message in messages {
            let (role, parts) = self.words.of(message);
            match shown.last_mut() {
                Some((last, known)) if *last == "request" && role == "request" => {
                    known.extend(parts);
                }
                _ => shown.push((role, parts)),
            }
        }
        if let Some((_, parts)) = shown.first_mut().filter(|_| self.has_instructions) {
            parts.insert(0, "system".to_owned());
        }
        let shown = shown
            .into_iter()
            .map(|(role, parts)| json!({"role": role, "parts": parts}));
        shown.collect()
    }
}

fn response(parts: &[Value]) -> Result<Message, Stop> {
    let (mut text, mut tool_calls) = (String::new(), Vec::new());
    for part in parts {
        match part.as_str().and_then(|part| part.split_once(':')) {
            Some(("text", said)) => text.push_str(said),
            Some(("tool_call", id)) => tool_calls.push(ToolCall {
                id: id.to_owned(),
                name: "probe".to_owned(),
                arguments: json!({}),
            }),
            _ => return Err(Stop::NotUnderstood(format!("the part {part}"))),
        }
    }
    Ok(Message::Assistant { text, tool_calls })
}

fn result(id: &str) -> Message {
    Message::Tool {
        tool_call_id: id.to_owned(),
        content: "ok".to_owned(),
        is_error: false,
    }
}
