//! `notekeeper chat`: talk to an agent in the terminal.

mod conversation;
mod failure;
mod input;
mod screen;
mod watch;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::bail;
use clap::Args;
use notekeeper_contract::ChatMessage;
use notekeeper_domain::{AGENT_NAME_DEFAULT, Scope};
use notekeeper_workflows::Reply;

use crate::{arguments::TemporalArgs, config::File, connection::TemporalTarget, exit::Exit};

use self::{
    conversation::{Beginning, Conversation},
    failure::Unanswered,
    input::{Input, Line},
    screen::Screen,
    watch::Watch,
};

/// Exchanges of an earlier conversation that are shown when it goes on.
const EXCHANGES_SHOWN: usize = 3;

/// Seconds that a pipe waits for an answer where nothing is said: longer than Temporal tries to get
/// one, so that a failure comes as itself.
const TIMEOUT_SECONDS: u32 = 900;

const COMMANDS: &str = "\
/history   the conversation so far
/close     end the conversation for good; its notes stay
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
  printf 'I like green tea; remember that.\\n' | notekeeper chat")]
pub(crate) struct ChatArgs {
    /// Id of the conversation, which is a workflow: begun if there is none, or else continued.
    #[arg(default_value = "chat", value_name = "CONVERSATION")]
    conversation: String,

    /// Begin anew where the conversation was closed.
    #[arg(long)]
    new: bool,

    /// Whose notes the agent keeps: the namespace, of segments with `/` between. It counts when the
    /// conversation begins, as do the next three.
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
    let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
    let beginning = Beginning {
        anew: args.new,
        namespace: args.namespace,
        agent_name: args.agent_name,
        model: args.model,
        instructions: args.instructions,
        task_queue: file.task_queue(args.task_queue.as_deref()),
        workflow_task_queue: file.workflow_task_queue(args.workflow_task_queue.as_deref()),
    };
    super::block_on(async {
        let client = target.reach().await?;
        let conversation = Conversation::find(client, args.conversation, beginning).await?;
        Chat::new(conversation, args.timeout)?.talk().await
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
        })
    }

    async fn talk(mut self) -> anyhow::Result<ExitCode> {
        self.welcome().await;
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

    async fn welcome(&self) {
        let id = self.conversation.id();
        if !self.conversation.goes_on() {
            self.screen
                .remark(&format!("new conversation `{id}`; /help lists commands"));
            return;
        }
        self.screen.remark(&format!(
            "conversation `{id}` goes on; /help lists commands"
        ));
        self.history(EXCHANGES_SHOWN).await;
    }

    /// Shows the latest exchanges.
    async fn history(&self, exchanges: usize) {
        match self.conversation.transcript().await {
            Ok(messages) => self.screen.history(&messages, exchanges),
            Err(error) => {
                self.screen
                    .remark(&format!("earlier messages can't be shown: {error:#}"));
            }
        }
    }

    async fn command(&mut self, command: &str) -> anyhow::Result<Next> {
        match command {
            "quit" | "exit" => return Ok(Next::Leave(self.exit_code())),
            "help" => self.screen.remark(COMMANDS),
            "history" if self.conversation.goes_on() => self.history(usize::MAX).await,
            "history" => self.screen.remark("nothing was said yet"),
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
            Ok(reply) => {
                self.asides(&reply).await;
                self.screen.answer(&reply.text)?;
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
    }

    fn exit_code(&self) -> ExitCode {
        let exit = match self.input.is_terminal() || self.unanswered == 0 {
            true => Exit::Done,
            false => Exit::Failed,
        };
        exit.into()
    }
}
