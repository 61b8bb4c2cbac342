//! Lines of a person, or of a pipe.

use std::io::{self, BufRead, IsTerminal as _, stdin};

use anyhow::{Context as _, anyhow};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
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

/// What is read at most of lines that nobody answers, in bytes.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// Lines that came and weren't sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) lines: usize,
    /// Whether there are more of them than were read.
    pub(super) more: bool,
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

    /// The lines of a pipe or a file that have come and weren't asked for. What comes later isn't waited
    /// for: who holds a pipe open may wait for the end.
    pub(super) fn rest(&self) -> Rest {
        match self.is_terminal {
            true => Rest::default(),
            false => unwaited(|| rest_of(&mut stdin().lock())).unwrap_or_default(),
        }
    }
}

/// Reads standard input without waiting for it.
fn unwaited<T>(read: impl FnOnce() -> T) -> rustix::io::Result<T> {
    let input = stdin();
    let before = fcntl_getfl(&input)?;
    fcntl_setfl(&input, before | OFlags::NONBLOCK)?;
    let result = read();
    // Others may read from the same pipe.
    fcntl_setfl(&input, before)?;
    Ok(result)
}

/// Counts the lines that are there, but for blank ones and those that only end the chat, as it has.
fn rest_of(input: &mut impl BufRead) -> Rest {
    let (mut rest, mut bytes, mut line) = (Rest::default(), 0, Vec::new());
    loop {
        let read = match input.read_until(b'\n', &mut line) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(read) => read,
            // Nothing more has come.
            Err(_) => 0,
        };
        bytes += line.len();
        let text = String::from_utf8_lossy(&line);
        rest.lines += usize::from(!matches!(text.trim(), "" | "/quit" | "/exit" | "/close"));
        line.clear();
        if read == 0 {
            return rest;
        }
        if bytes > REST_BYTES_MAX {
            rest.more = true;
            return rest;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pipe answers that has nothing, and isn't waited for.
    struct Empty;

    impl io::Read for Empty {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    #[test]
    fn lines_that_nobody_answers_are_counted_but_for_blank_ones_and_those_that_end_the_chat() {
        let rest = |text: &str| rest_of(&mut text.as_bytes());
        assert_eq!(rest("").lines, 0);
        assert_eq!(rest("\n  \n/quit\n/close\n").lines, 0);
        assert_eq!(rest("Hi\n\n/clear yes\nthe last one has no end").lines, 3);
        assert_eq!(rest_of(&mut &b"\xff\n"[..]).lines, 1);
        // A pipe that somebody holds open.
        let mut held = io::BufReader::new(io::Read::chain(&b"Hi\n"[..], Empty));
        assert_eq!(
            rest_of(&mut held),
            Rest {
                lines: 1,
                more: false
            }
        );
        let endless = "line\n".repeat(REST_BYTES_MAX);
        let rest = rest(&endless);
        assert!(rest.more && rest.lines < REST_BYTES_MAX, "{rest:?}");
    }
}
