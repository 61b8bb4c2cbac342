//! `notekeeper chat`: talk to an agent in the terminal.

mod conversation;
mod failure;
mod history;
mod input;
mod kept;
mod opening;
mod said;
mod screen;
mod watch;
mod workers;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;
use notekeeper_contract::ChatMessage;
use notekeeper_domain::{AGENT_NAME_DEFAULT, ConversationId, Scope};
use notekeeper_workflows::Reply;

use crate::{arguments::TemporalArgs, config::File, connection::TemporalTarget, exit::Exit};

use self::{
    conversation::{Answer, Beginning, Conversation},
    failure::Unanswered,
    input::{Input, Line},
    opening::Opening,
    screen::Screen,
    watch::Watch,
};

/// Exchanges of an earlier conversation that are shown when it goes on, where nothing is said.
const EXCHANGES_SHOWN: usize = 3;

/// Seconds that a pipe waits for an answer where nothing is said: longer than Temporal tries to get
/// one, so that a failure comes as itself.
const TIMEOUT_SECONDS: u32 = 900;

/// Stands under an answer that isn't in the transcript yet.
const UNSTORED: &str = "the answer couldn't be stored yet, because the transcript's store failed; it is tried again \
     before the next message is answered, and when the conversation is closed";

const COMMANDS: &str = "\
/history   the conversation so far
/close     end the conversation; its messages and notes stay, and it goes on when you come back
/clear yes remove all its messages and begin anew; its notes and facts stay
/quit      leave; the conversation goes on when you come back (Ctrl-D as well)
/help      this list
A message that begins with a slash needs a blank before it.";

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is a message; a pasted text with several lines is one. Where standard input is no \
terminal, each of its lines is a message, the answers go to standard output, and the exit code is 0 \
if every message was answered, 1 if one wasn't, or not in time.

Examples:
  notekeeper chat
  notekeeper chat travel --namespace customers/ada --instructions 'Be brief.'
  notekeeper chat travel --namespace customers/ada --facts --history window:40 --last 10
  printf 'I like green tea; remember that.\\n' | notekeeper chat")]
pub(crate) struct ChatArgs {
    /// Id of the conversation, which is a workflow: begun if there is none, or else continued; where the
    /// workflow has ended, with the messages that its store keeps.
    #[arg(default_value = "chat", value_name = "CONVERSATION")]
    conversation: String,

    /// Begin anew where the conversation was closed, and remove the messages that are kept of it. On a
    /// terminal it is asked whether that is meant.
    #[arg(long)]
    new: bool,

    /// Show so many exchanges of a conversation that goes on; 0 for none.
    #[arg(long, value_name = "EXCHANGES", default_value_t = EXCHANGES_SHOWN)]
    last: usize,

    /// Whose notes the agent keeps: the namespace, of segments with `/` between. It counts when the
    /// conversation's workflow begins, as do the next six.
    #[arg(
        id = "memory_namespace",
        long = "namespace",
        value_name = "NAMESPACE",
        default_value = "chat"
    )]
    namespace: String,

    /// Agent whose notes they are, inside the namespace.
    #[arg(long, value_name = "NAME", default_value = AGENT_NAME_DEFAULT)]
    agent_name: String,

    /// Which of the worker's models answers.
    #[arg(long, value_name = "NAME", default_value = "default")]
    model: String,

    /// What the agent should know and do beside remembering.
    #[arg(long, value_name = "TEXT", default_value = "")]
    instructions: String,

    /// Under which id the store keeps the messages, inside the namespace, where it isn't the
    /// conversation's own.
    #[arg(id = "kept_as", long = "conversation", value_name = "ID")]
    kept_as: Option<String>,

    /// Give the model tools that remember, recall and forget facts.
    #[arg(long)]
    facts: bool,

    /// What of the conversation is sent to the model: `window:N` for the latest messages, `tokens:N`
    /// for as many as fit, or a JSON file with a list of policies [default: all of it].
    #[arg(long, value_name = "POLICY")]
    history: Option<String>,

    /// Task queue of the activities [default: notekeeper].
    #[arg(long, env = "NOTEKEEPER_TASK_QUEUE", value_name = "NAME")]
    task_queue: Option<String>,

    /// Task queue of the workflows [default: notekeeper-workflows].
    #[arg(long, env = "NOTEKEEPER_WORKFLOW_TASK_QUEUE", value_name = "NAME")]
    workflow_task_queue: Option<String>,

    /// Longest wait for one answer, in seconds; 0 for none [default: 900, and none at a terminal].
    ///
    /// A message that has no answer by then ends the chat with 1; it is kept if it was taken.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u32>,

    #[command(flatten)]
    temporal: TemporalArgs,
}

pub(crate) fn run(config: Option<&Path>, args: ChatArgs) -> anyhow::Result<ExitCode> {
    let file = File::read(config)?;
    if args.conversation.trim().is_empty() {
        bail!("the conversation's id is empty; leave it out for `chat`");
    }
    Scope::resolve(&args.namespace, &args.agent_name)?;
    if let Some(id) = &args.kept_as {
        ConversationId::parse(id).context("--conversation")?;
    }
    let history = args.history.as_deref().map(history::policies);
    let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
    let beginning = Beginning {
        anew: args.new,
        namespace: args.namespace,
        agent_name: args.agent_name,
        model: args.model,
        instructions: args.instructions,
        conversation: args.kept_as,
        history: history.transpose()?.unwrap_or_default(),
        facts: args.facts,
        task_queue: file.task_queue(args.task_queue.as_deref()),
        workflow_task_queue: file.workflow_task_queue(args.workflow_task_queue.as_deref()),
    };
    super::block_on(async {
        let client = target.reach().await?;
        let found = Conversation::find(client, args.conversation, beginning).await?;
        let (conversation, opening) = found;
        let chat = Chat::new(conversation, args.timeout)?;
        chat.welcome(opening, args.last).await;
        chat.talk().await
    })
}

/// A conversation and the person in it.
struct Chat {
    conversation: Conversation,
    screen: Screen,
    input: Input,
    watch: Watch,
    /// Messages of this session without an answer.
    unanswered: usize,
    /// Whether the last answer isn't in the transcript yet.
    unstored: bool,
}

/// What follows a line.
enum Next {
    Line,
    Leave(ExitCode),
}

impl Chat {
    fn new(conversation: Conversation, timeout: Option<u32>) -> anyhow::Result<Self> {
        let screen = Screen::new();
        let input = Input::new();
        // A person sees that it takes long, and has Ctrl-C.
        let seconds = timeout.unwrap_or(match input.is_terminal() {
            true => 0,
            false => TIMEOUT_SECONDS,
        });
        let longest = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        Ok(Self {
            watch: Watch::new(conversation.queues(), screen, longest)?,
            input,
            conversation,
            screen,
            unanswered: 0,
            unstored: false,
        })
    }

    async fn talk(mut self) -> anyhow::Result<ExitCode> {
        loop {
            let line = tokio::select! {
                line = self.input.line() => line?,
                // In a terminal's line it is a key; this is for a pipe.
                () = self.watch.interrupted() => return Ok(Exit::Interrupted.into()),
            };
            let next = match line {
                Line::Text(text) if text.trim().is_empty() => Next::Line,
                Line::Text(text) => match text.trim_end().strip_prefix('/') {
                    Some(command) => self.command(command).await?,
                    None => self.message(&text).await?,
                },
                Line::Dropped => {
                    self.screen.remark("Ctrl-D or /quit leaves.");
                    Next::Line
                }
                Line::End => Next::Leave(self.exit_code()),
            };
            if let Next::Leave(code) = next {
                return Ok(code);
            }
        }
    }

    async fn welcome(&self, opening: Opening, exchanges: usize) {
        let id = self.conversation.id();
        let (said, has_history) = match opening {
            Opening::New => (format!("new conversation `{id}`"), false),
            Opening::GoesOn => (format!("conversation `{id}` goes on"), true),
            Opening::Resumes(count) => {
                let said = format!("conversation `{id}` goes on with its {count} messages");
                (said, true)
            }
            Opening::Cleared(count) => {
                let said = format!("new conversation `{id}`, {count} earlier messages are removed");
                (said, false)
            }
            Opening::Unknown(why) => {
                let said = format!(
                    "conversation `{id}`; whether there are earlier messages can't be seen: {why:#}"
                );
                (said, false)
            }
        };
        self.screen.remark(&format!("{said}; /help lists commands"));
        if has_history && exchanges > 0 {
            self.history(Some(exchanges)).await;
        }
    }

    /// Shows the latest exchanges, or all.
    async fn history(&self, exchanges: Option<usize>) {
        match self.conversation.show(exchanges, self.screen).await {
            Ok(true) => {}
            Ok(false) => self.screen.remark("nothing was said yet"),
            Err(error) => self
                .screen
                .remark(&format!("earlier messages can't be shown: {error:#}")),
        }
    }

    async fn command(&mut self, command: &str) -> anyhow::Result<Next> {
        match command {
            "quit" | "exit" => return Ok(Next::Leave(self.exit_code())),
            "help" => self.screen.remark(COMMANDS),
            "history" => self.history(None).await,
            "clear" => self.screen.remark(
                "all messages of the conversation would be removed, and can't be had back; \
                 /clear yes removes them",
            ),
            "clear yes" => match self.conversation.clear().await {
                Ok(count) => self.screen.remark(&format!(
                    "{count} messages are removed; notes and facts stay"
                )),
                Err(error) => self.screen.problem(&format!("error: {error:#}")),
            },
            "close" => {
                let id = self.conversation.id();
                if self.conversation.goes_on() {
                    self.conversation.close().await?;
                    self.screen
                        .remark(&format!("conversation `{id}` is closed"));
                } else {
                    self.screen.remark("there is nothing to close");
                }
                return Ok(Next::Leave(self.exit_code()));
            }
            other => self
                .screen
                .remark(&format!("there is no /{other}; /help lists commands")),
        }
        Ok(Next::Line)
    }

    async fn message(&mut self, text: &str) -> anyhow::Result<Next> {
        let unanswered = match self.conversation.send(text, &mut self.watch).await {
            Ok(answer) => {
                self.answer(answer).await?;
                return Ok(Next::Line);
            }
            Err(unanswered) => unanswered,
        };
        if matches!(unanswered, Unanswered::Interrupted { .. }) {
            self.screen.end_line();
        }
        let told = unanswered.told(self.conversation.id());
        self.screen.problem(&told);
        self.unanswered += 1;
        Ok(match unanswered {
            Unanswered::Closed | Unanswered::TimedOut { .. } => Next::Leave(Exit::Failed.into()),
            Unanswered::Interrupted { .. } if !self.input.is_terminal() => {
                Next::Leave(Exit::Interrupted.into())
            }
            Unanswered::Interrupted { .. } | Unanswered::Failed { .. } => Next::Line,
        })
    }

    /// Shows an answer, and what there is to know of it.
    async fn answer(&mut self, answer: Answer) -> anyhow::Result<()> {
        let (reply, unstored) = match answer {
            Answer::Kept(reply) => (reply, false),
            Answer::Unstored(reply) => (reply, true),
        };
        self.unstored = unstored;
        self.asides(&reply).await;
        self.screen.answer(&reply.text)?;
        if unstored {
            self.screen.remark(UNSTORED);
        }
        Ok(())
    }

    /// Shows which tools were called for a reply, and what it had to do without.
    async fn asides(&self, reply: &Reply) {
        if reply.requests > 1
            && let Ok(messages) = self.conversation.transcript().await
        {
            let prompt = |message: &ChatMessage| matches!(message, ChatMessage::User { .. });
            let start = messages.iter().rposition(prompt).unwrap_or_default();
            self.screen.tools(&messages[start..]);
        }
        if let Some(skip) = reply.skipped.last() {
            let error = &skip.error_type;
            self.screen.remark(&format!(
                "answered without memory, whose store failed: {error}"
            ));
        }
        if let Some(error) = &reply.grounding_skipped {
            self.screen.remark(&format!(
                "answered without what grounds the conversation, whose source failed: {error}"
            ));
        }
        if !reply.grounding_partial.is_empty() {
            let unheard = reply.grounding_partial.join(", ");
            self.screen.remark(&format!(
                "answered without what these sources know, which weren't heard: {unheard}"
            ));
        }
    }

    fn exit_code(&self) -> ExitCode {
        let all_is_well = self.unanswered == 0 && !self.unstored;
        let exit = match self.input.is_terminal() || all_is_well {
            true => Exit::Done,
            false => Exit::Failed,
        };
        exit.into()
    }
}
