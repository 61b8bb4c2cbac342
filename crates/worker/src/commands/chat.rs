//! `notekeeper chat`: talk to an agent in the terminal.

mod arguments;
mod asides;
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
use notekeeper_domain::{ConversationId, Scope};

use crate::{config::File, connection::TemporalTarget, exit::Exit};

pub(crate) use self::arguments::ChatArgs;

use self::{
    arguments::Given,
    conversation::{Answer, Beginning, Conversation},
    failure::Unanswered,
    input::{Input, Line, Rest},
    opening::Opening,
    screen::Screen,
    watch::Watch,
};

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

pub(crate) fn run(config: Option<&Path>, args: ChatArgs) -> anyhow::Result<ExitCode> {
    let file = File::read(config)?;
    if args.conversation.trim().is_empty() {
        bail!("the conversation's id is empty; leave it out for `chat`");
    }
    if args.conversation.chars().any(char::is_control) {
        bail!(
            "the conversation's id has a control character, such as a line break; choose another id"
        );
    }
    if let Some(id) = &args.kept_as {
        ConversationId::parse(id).context("--conversation")?;
    }
    let history = args.history.as_deref().map(history::policies);
    let given = Given {
        namespace: args.namespace,
        agent_name: args.agent_name,
        model: args.model,
        instructions: args.instructions,
        conversation: args.kept_as,
        history: history.transpose()?,
        facts: args.facts,
    };
    Scope::resolve(given.namespace(), given.agent_name())?;
    let target = TemporalTarget::resolve(&file.temporal(&args.temporal))?;
    let beginning = Beginning {
        anew: args.new,
        given,
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
    /// Messages of this session without an answer, and commands that failed.
    failed: usize,
    /// Whether the last answer isn't in the transcript yet.
    unstored: bool,
}

/// What follows a line.
enum Next {
    Line,
    Leave(Exit),
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
            failed: 0,
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
                Line::End => return Ok(self.exit().into()),
            };
            if let Next::Leave(exit) = next {
                return Ok(self.leave(exit).into());
            }
        }
    }

    /// What it ends with, where lines may follow that nobody reads.
    fn leave(&mut self, exit: Exit) -> Exit {
        if matches!(exit, Exit::Interrupted) {
            return exit;
        }
        let Rest { lines, more } = self.input.rest();
        if lines == 0 {
            return exit;
        }
        let count = match more {
            true => format!("more than {lines}"),
            false => lines.to_string(),
        };
        self.screen.problem(&format!(
            "error: the chat has ended before all lines were read; lines that were not sent: {count}"
        ));
        Exit::Failed
    }

    async fn welcome(&self, opening: Opening, exchanges: usize) {
        let id = self.conversation.id();
        let (said, has_history) = match &opening {
            Opening::New => (format!("new conversation `{id}`"), false),
            Opening::GoesOn { .. } => (format!("conversation `{id}` goes on"), true),
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
        if let Opening::GoesOn { unheeded } = &opening
            && !unheeded.is_empty()
        {
            let flags = unheeded.join(", ");
            self.screen.remark(&format!(
                "it keeps what it began with, so what is given now doesn't count: {flags}; it counts once the \
                 conversation was ended with /close and begins again"
            ));
        }
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
        match one_spaced(command).as_str() {
            "quit" | "exit" => return Ok(Next::Leave(self.exit())),
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
                Err(error) => {
                    self.screen.problem(&format!("error: {error:#}"));
                    self.failed += 1;
                }
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
                return Ok(Next::Leave(self.exit()));
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
        self.failed += 1;
        Ok(match unanswered {
            Unanswered::Closed | Unanswered::TimedOut { .. } => Next::Leave(Exit::Failed),
            Unanswered::Interrupted { .. } if !self.input.is_terminal() => {
                Next::Leave(Exit::Interrupted)
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
        asides::show(&self.conversation, self.screen, &reply).await;
        self.screen.answer(&reply.text)?;
        if unstored {
            self.screen.remark(UNSTORED);
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let all_is_well = self.failed == 0 && !self.unstored;
        match self.input.is_terminal() || all_is_well {
            true => Exit::Done,
            false => Exit::Failed,
        }
    }
}

/// A command with one blank between its words, however many there are.
fn one_spaced(command: &str) -> String {
    match command.starts_with(char::is_whitespace) {
        true => command.to_owned(),
        false => command.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
