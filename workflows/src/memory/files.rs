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
