//! Lines of a person, or of a pipe.

use std::io::{BufRead as _, IsTerminal as _, stdin};

use anyhow::{Context as _, anyhow};
use rustyline::{DefaultEditor, error::ReadlineError};
use tokio::sync::mpsc;

const PROMPT: &str = "> ";

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A text, without the line break at its end.
    Text(String),
    /// The person dropped the line with Ctrl-C.
    Dropped,
    /// Nothing more comes.
    End,
}

/// Lines, read on a thread of their own: reading blocks, for as long as a person thinks.
pub(super) struct Input {
    ask: std::sync::mpsc::Sender<()>,
    lines: mpsc::Receiver<anyhow::Result<Line>>,
    is_terminal: bool,
}

impl Input {
    /// Standard input, with line editing where it is a terminal.
    pub(super) fn new() -> Self {
        let is_terminal = stdin().is_terminal();
        let (ask, asked) = std::sync::mpsc::channel();
        let (answer, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut read: Box<dyn FnMut() -> anyhow::Result<Line>> = match is_terminal {
                false => Box::new(read),
                true => match DefaultEditor::new() {
                    Ok(mut editor) => Box::new(move || edit(&mut editor)),
                    Err(error) => {
                        Box::new(move || Err(anyhow!("the terminal can't be used: {error}")))
                    }
                },
            };
            // Only when asked: an editor would draw its prompt into the answer.
            while asked.recv().is_ok() {
                if answer.blocking_send(read()).is_err() {
                    return;
                }
            }
        });
        Self {
            ask,
            lines,
            is_terminal,
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The next line.
    pub(super) async fn line(&mut self) -> anyhow::Result<Line> {
        // A thread that is gone shows as the end below.
        let _ = self.ask.send(());
        self.lines.recv().await.unwrap_or(Ok(Line::End))
    }
}

fn read() -> anyhow::Result<Line> {
    let mut line = Vec::new();
    stdin()
        .lock()
        .read_until(b'\n', &mut line)
        .context("standard input can't be read")?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    let mut text = String::from_utf8(line).context("standard input is not UTF-8")?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(Line::Text(text))
}

fn edit(editor: &mut DefaultEditor) -> anyhow::Result<Line> {
    match editor.readline(PROMPT) {
        Ok(text) => {
            if !text.trim().is_empty() {
                // A line that the list of earlier ones can't take is still a line.
                let _ = editor.add_history_entry(text.as_str());
            }
            Ok(Line::Text(text))
        }
        Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
        Err(ReadlineError::Eof) => Ok(Line::End),
        Err(error) => Err(anyhow!("the terminal can't be read: {error}")),
    }
}
