//! A person at `notekeeper chat`.

use std::{
    io::{Read, Write as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use super::{Bed, Ended, eventually, worker::command};

/// Runs a program in a terminal of its own, whose keys come from standard input.
const TERMINAL: &str = "import os, pty, sys; \
    sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A chat process. Dropping it kills it.
pub(crate) struct Talk {
    child: Child,
    answers: Heard,
    remarks: Heard,
    /// Bytes of the answers that were waited for already.
    heard: usize,
    listeners: Vec<JoinHandle<()>>,
}

/// What a process has written so far.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn listen(&self, mut source: impl Read + Send + 'static) -> JoinHandle<()> {
        let heard = self.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = source.read(&mut buffer) {
                let mut bytes = heard.0.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&buffer[..read]);
            }
        })
    }
}

impl Talk {
    /// Starts `notekeeper chat` with lines from a pipe.
    pub(crate) fn start(bed: &Bed, arguments: &[&str]) -> Self {
        let mut command = command(bed);
        command.arg("chat").args(arguments);
        Self::spawn(command)
    }

    /// Starts `notekeeper chat` in a terminal; all that it writes counts as answers.
    pub(crate) fn in_terminal(bed: &Bed, arguments: &[&str]) -> Self {
        Self::program_in_terminal(bed, &[&["chat"], arguments].concat())
    }

    /// Starts any command of `notekeeper` in a terminal.
    pub(crate) fn program_in_terminal(bed: &Bed, arguments: &[&str]) -> Self {
        let program = command(bed);
        let mut terminal = Command::new("python3");
        terminal
            .args(["-c", TERMINAL])
            .arg(program.get_program())
            .args(arguments)
            .env("TERM", "xterm");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => terminal.env(name, value),
                None => terminal.env_remove(name),
            };
        }
        Self::spawn(terminal)
    }

    /// What a pipe with these lines brings.
    pub(crate) async fn of(bed: &Bed, arguments: &[&str], lines: &str) -> Ended {
        let mut talk = Self::start(bed, arguments);
        talk.write(lines);
        talk.ended().await
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start a chat");
        let (answers, remarks) = (Heard::default(), Heard::default());
        let listeners = vec![
            answers.listen(child.stdout.take().expect("piped")),
            remarks.listen(child.stderr.take().expect("piped")),
        ];
        Self {
            child,
            answers,
            remarks,
            heard: 0,
            listeners,
        }
    }

    /// Writes lines, or presses keys.
    pub(crate) fn write(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("an open input");
        stdin
            .write_all(text.as_bytes())
            .and_then(|()| stdin.flush())
            .expect("write to the chat");
    }

    /// Waits for a part of an answer, behind the part that was waited for before.
    pub(crate) async fn hears(&mut self, text: &str) {
        let found = eventually(&format!("the chat answers `{text}`"), || async {
            self.answers.text()[self.heard..].find(text)
        })
        .await;
        self.heard += found + text.len();
    }

    /// Waits for something that is said beside the answers.
    pub(crate) async fn is_told(&self, text: &str) {
        eventually(&format!("the chat says `{text}`"), || async {
            self.remarks.text().contains(text).then_some(())
        })
        .await;
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status();
        assert!(status.expect("run kill").success());
    }

    /// Closes its input and waits until it has ended.
    pub(crate) async fn ended(&mut self) -> Ended {
        drop(self.child.stdin.take());
        let deadline = tokio::time::Instant::now() + super::PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("wait for the chat") {
                break status;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "the chat did not end: {}{}",
                self.answers.text(),
                self.remarks.text()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        for listener in self.listeners.drain(..) {
            listener.join().expect("all was heard");
        }
        Ended {
            code: status.code(),
            stdout: self.answers.text(),
            stderr: self.remarks.text(),
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("answers:\n{}", self.answers.text());
            println!("remarks:\n{}", self.remarks.text());
        }
    }
}
