//! What is done with notes, in both ways alike.

use notekeeper_activities::{ExpectedNote, Notebook, ReplaceWhole};
use notekeeper_contract::{
    DeleteMemory, DeleteMemoryInput, DeletedMemory, ListMemory, ListMemoryInput, ListedMemory,
    MemoryContent, MemoryMatches, Outcome, ReadMemory, ReadMemoryInput, SearchMemory,
    SearchMemoryInput, WriteMemory, WriteMemoryInput, WrittenMemory,
};

use crate::commands::access::{Access, failed, nobody};

use super::whole_over_temporal::WholeOverTemporal;

impl Access {
    pub(super) async fn list(&self, input: ListMemoryInput) -> anyhow::Result<ListedMemory> {
        self.carry_out(ListMemory, input, async |notebook, input| {
            notebook.list(input).await
        })
        .await
    }

    /// The whole note, as far as this way carries it.
    pub(super) async fn read(
        &self,
        input: ReadMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryContent>> {
        self.carry_out(ReadMemory, input, async |notebook, input| {
            notebook.read_whole(input).await
        })
        .await
    }

    pub(super) async fn search(
        &self,
        input: SearchMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryMatches>> {
        self.carry_out(SearchMemory, input, async |notebook, input| {
            notebook.search(input).await
        })
        .await
    }

    pub(super) async fn write(
        &self,
        input: WriteMemoryInput,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        self.carry_out(WriteMemory, input, async |notebook, input| {
            notebook.write(input, &nobody()).await
        })
        .await
    }

    /// No activity does that: a worker is asked for what comes to the same.
    pub(super) async fn replace_whole(
        &self,
        input: ReplaceWhole,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.replace_whole(input).await.map_err(failed)
            }
            Self::Temporal(remote) => WholeOverTemporal(remote).replace_whole(input).await,
        }
    }

    pub(super) async fn delete(
        &self,
        input: DeleteMemoryInput,
    ) -> anyhow::Result<Outcome<DeletedMemory>> {
        self.carry_out(DeleteMemory, input, async |notebook, input| {
            notebook.delete(input, &nobody()).await
        })
        .await
    }
}

/// What a note is expected to be, as the two ways take it.
pub(super) fn expected(version: Option<&str>) -> ExpectedNote {
    version.map_or(ExpectedNote::Any, |version| {
        ExpectedNote::Version(version.to_owned())
    })
}
