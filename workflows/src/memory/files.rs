//! Files that the model reads with a tool of its own, and tools that are hidden then.

use notekeeper_contract::ChatToolDefinition;
use notekeeper_domain::{self as domain, OfferedTools, VisibleFiles};

use super::Memory;

/// What the block of the latest snapshot says of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// There is no block, because there are no notes; or none was loaded yet.
    NoNotes,
    /// There is a block, and it says where the files are.
    Located,
    /// The model isn't told where the files are, though there may be some.
    Unlocated,
}

impl Memory {
    /// Says which tool of the coming requests reads files of the run's workspace, as the model sees
    /// it; `None` for none.
    ///
    /// Where the memory keeps its files in that workspace, `read_memory` steps aside for it. It
    /// holds until it is said anew; say it before [`Memory::snapshot`], and ask for
    /// [`Memory::tools`] after that.
    pub fn set_file_reader(&self, tool: Option<&str>) {
        self.inner.file_reader.replace(tool.map(str::to_owned));
    }

    /// The memory tools, for the model request: all, but for those that change notes where nothing
    /// may be changed, and `read_memory` where a file tool reads the files that the block of the
    /// latest snapshot tells of.
    pub fn tools(&self) -> Vec<ChatToolDefinition> {
        domain::offered_memory_tools(&self.settings().prefix, self.offered())
            .into_iter()
            .map(Into::into)
            .collect()
    }

    pub(super) fn offered(&self) -> OfferedTools {
        let description = self.inner.description.borrow();
        OfferedTools {
            writing: !description.as_ref().is_some_and(|it| it.read_only),
            reading: self.files_shown().is_none(),
        }
    }

    /// The files, where a tool of the model reads them and the model is told of them.
    pub(super) fn files_shown(&self) -> Option<VisibleFiles> {
        match self.inner.shown.get() {
            Shown::NoNotes | Shown::Located => self.visible_files(),
            Shown::Unlocated => None,
        }
    }

    /// The files, where a tool of the model reads them and a block can tell of them.
    pub(super) fn visible_files(&self) -> Option<VisibleFiles> {
        let settings = self.settings();
        let chars_max = settings.max_tokens.saturating_mul(domain::CHARS_PER_TOKEN);
        if !settings.inject_memory || self.guidance_chars() >= chars_max {
            return None;
        }
        let description = self.inner.description.borrow();
        let directory = description.as_ref()?.directory.as_deref()?;
        let reader = self.inner.file_reader.borrow();
        Some(VisibleFiles::new(
            directory,
            self.scope(),
            reader.as_deref()?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::{MemoryDescription, SnapshotAnswer, SnapshotStats};

    use super::*;
    use crate::{CallFailure, MemorySettings, Session};

    /// A memory of a run in a workspace, described like this, beside the tool `read_file`.
    fn memory(settings: MemorySettings, description: MemoryDescription) -> Memory {
        let session = Session::in_workspace("project");
        let memory = session
            .open(settings, &(), |()| "acme".to_owned())
            .expect("it can be opened");
        memory.inner.description.replace(Some(description));
        memory.set_file_reader(Some("read_file"));
        memory
    }

    fn in_the_workspace() -> MemoryDescription {
        MemoryDescription {
            kind: "file".to_owned(),
            directory: Some(".agent-memory".to_owned()),
            ..MemoryDescription::default()
        }
    }

    /// Whether the next request offers `read_memory`.
    fn reads(memory: &Memory) -> bool {
        let is_reader = |tool: &ChatToolDefinition| tool.name.ends_with("read_memory");
        memory.tools().iter().any(is_reader)
    }

    /// Whether the snapshot is asked to say where the files are, and how they are read.
    fn tells(memory: &Memory) -> bool {
        let render = memory.snapshot_request().render;
        assert_eq!(render.location.is_some(), render.file_reader.is_some());
        render.location.is_some()
    }

    fn block(located: bool) -> SnapshotAnswer {
        SnapshotAnswer::Block {
            digest: "d".repeat(64),
            text: Some("<memory>\n</memory>".to_owned()),
            stats: SnapshotStats {
                located,
                ..SnapshotStats::default()
            },
        }
    }

    fn answer(memory: &Memory, answer: SnapshotAnswer) {
        memory
            .accept(answer)
            .expect("a possible answer")
            .expect("no failure");
    }

    #[test]
    fn read_memory_steps_aside_for_a_reader_of_the_runs_workspace() {
        let memory = memory(MemorySettings::default(), in_the_workspace());
        assert!(!reads(&memory) && tells(&memory));
        answer(&memory, block(true));
        assert!(!reads(&memory));
        let render = memory.snapshot_request().render;
        assert_eq!(
            (render.location.as_deref(), render.file_reader.as_deref()),
            (
                Some("These files are in `.agent-memory/acme/main/` in the workspace."),
                Some("read_file on `.agent-memory/acme/main/MEMORY.md`"),
            )
        );
        assert_eq!(
            render.reader, "read_memory",
            "for a block without the location"
        );
    }

    #[test]
    fn it_is_decided_for_each_request_by_the_tools_on_it() {
        let memory = memory(MemorySettings::default(), in_the_workspace());
        memory.set_file_reader(None);
        assert!(reads(&memory) && !tells(&memory));
        memory.set_file_reader(Some("open"));
        assert!(!reads(&memory) && tells(&memory));
    }

    #[test]
    fn it_stays_with_a_store_whose_files_the_reader_does_not_see() {
        let own_workspace = MemoryDescription {
            directory: None,
            ..in_the_workspace()
        };
        let database = MemoryDescription {
            kind: "postgres".to_owned(),
            ..MemoryDescription::default()
        };
        for description in [own_workspace, database] {
            let memory = memory(MemorySettings::default(), description);
            assert!(reads(&memory) && !tells(&memory));
        }
    }

    #[test]
    fn it_stays_where_no_block_is_placed() {
        let settings = MemorySettings {
            inject_memory: false,
            ..MemorySettings::default()
        };
        let memory = memory(settings, in_the_workspace());
        assert!(reads(&memory) && !tells(&memory));
    }

    #[test]
    fn it_stays_where_the_guidance_alone_fills_the_budget() {
        let settings = MemorySettings {
            max_tokens: 100,
            ..MemorySettings::default()
        };
        let filled = memory(settings, in_the_workspace());
        assert!(reads(&filled) && !tells(&filled));
        // Room that the guidance leaves, and that nothing fits into.
        let memory = memory(MemorySettings::default(), in_the_workspace());
        let budget_exhausted = true;
        answer(&memory, SnapshotAnswer::Empty { budget_exhausted });
        assert!(reads(&memory));
    }

    #[test]
    fn it_stays_while_the_model_is_not_told_where_the_files_are() {
        let memory = memory(MemorySettings::default(), in_the_workspace());
        answer(&memory, block(false));
        assert!(reads(&memory));
        let digest = "d".repeat(64);
        answer(&memory, SnapshotAnswer::Unchanged { digest });
        assert!(reads(&memory), "the block is still that one");
        answer(&memory, block(true));
        assert!(!reads(&memory));
        let away = CallFailure::named("Unavailable", "away");
        memory.settle(away).expect("it is skipped");
        assert!(reads(&memory), "there is no block on this request");
    }

    #[test]
    fn nothing_is_read_of_an_empty_notebook() {
        let memory = memory(MemorySettings::default(), in_the_workspace());
        let budget_exhausted = false;
        answer(&memory, SnapshotAnswer::Empty { budget_exhausted });
        assert!(!reads(&memory));
    }

    #[test]
    fn the_guidance_is_the_same_with_and_without_a_reader() {
        let memory = memory(MemorySettings::default(), in_the_workspace());
        let with = memory.guidance().map(str::to_owned);
        memory.set_file_reader(None);
        assert_eq!(memory.guidance().map(str::to_owned), with);
        assert!(!with.unwrap_or_default().contains("read_file"));
    }

    #[test]
    fn tools_that_change_notes_are_hidden_where_nothing_may_be_changed() {
        let read_only = MemoryDescription {
            read_only: true,
            directory: None,
            ..in_the_workspace()
        };
        let settings = MemorySettings {
            prefix: "org".to_owned(),
            ..MemorySettings::default()
        };
        let memory = memory(settings, read_only);
        let tools = memory.tools();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["org_read_memory", "org_search_memory"]);
        assert!(
            memory.owns_tool("org_write_memory"),
            "no other tool may take the name"
        );
    }

    #[test]
    fn the_workspace_is_a_part_of_what_a_run_addresses() {
        let hash = |session: Session| {
            session
                .open(MemorySettings::default(), &(), |()| "acme".to_owned())
                .expect("it can be opened");
            session.scope_hash()
        };
        let without = hash(Session::new());
        let [a, b] = ["a", "b"].map(|name| hash(Session::in_workspace(name)));
        assert_ne!(a, b);
        assert_ne!(a, without);
    }
}
