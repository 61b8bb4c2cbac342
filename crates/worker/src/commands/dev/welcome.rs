//! What is said once everything is up.

use std::{
    fmt::{self, Write as _},
    io::Write as _,
    path::Path,
};

use crate::{
    config::{Queue, WorkerConfig},
    connection::PORT,
};

/// All that somebody needs to begin.
pub(super) struct Welcome<'a> {
    pub(super) port: u16,
    pub(super) ui: Option<String>,
    /// `None` where nothing is kept.
    pub(super) data: Option<&'a Path>,
    pub(super) config: &'a WorkerConfig,
}

impl Welcome<'_> {
    /// Says it on standard output; logs are on the other one.
    pub(super) fn say(&self) {
        // Nobody has to listen.
        let _ = write!(std::io::stdout(), "{self}");
    }

    fn model(&self) -> String {
        match self.config.models.keys().next() {
            None => "none; --script FILE or --model NAME gives one".to_owned(),
            Some(_) => {
                let names: Vec<_> = self.config.models.keys().map(String::as_str).collect();
                names.join(", ")
            }
        }
    }

    fn queues(&self) -> String {
        let mut said = String::new();
        for queue in &self.config.queues {
            let (name, what) = match queue {
                Queue::Memory => (&self.config.task_queue, "activities"),
                Queue::Workflows => (&self.config.workflow_task_queue, "workflows"),
            };
            let comma = if said.is_empty() { "" } else { ", " };
            let _ = write!(said, "{comma}{name} ({what})");
        }
        said
    }
}

impl fmt::Display for Welcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format!("127.0.0.1:{}", self.port);
        writeln!(f, "Notekeeper is ready.")?;
        writeln!(f, "  Temporal  {address}, Temporal namespace default")?;
        writeln!(f, "  web UI    {}", self.ui.as_deref().unwrap_or("none"))?;
        match self.data {
            Some(path) => writeln!(f, "  data      {}", path.display())?,
            None => writeln!(f, "  data      in memory: it ends with this process")?,
        }
        writeln!(f, "  queues    {}", self.queues())?;
        writeln!(f, "  models    {}", self.model())?;
        let there = match self.port {
            PORT => String::new(),
            _ => format!("TEMPORAL_ADDRESS={address} "),
        };
        writeln!(f, "Next, in another terminal:")?;
        writeln!(
            f,
            "  {there}notekeeper chat   talk to an agent that keeps notes"
        )?;
        writeln!(
            f,
            "  {there}python3 remember.py ada \"likes tea\"   a workflow in Python, in examples/python"
        )?;
        writeln!(f, "Ctrl-C stops all of it.")
    }
}
