//! What is done with notes, in both ways alike.

use notekeeper_activities::{ExpectedNote, Notebook, ReplaceWhole};
use notekeeper_contract::{
    DeleteMemory, DeleteMemoryInput, DeletedMemory, ListMemory, ListMemoryInput, ListedMemory,
    MemoryContent, MemoryMatches, Outcome, ReadMemory, ReadMemoryInput, SearchMemory,
    SearchMemoryInput, WriteMemory, WriteMemoryInput, WrittenMemory,
};

use crate::{
    commands::access::{Access, failed, nobody},
    wiring::OpenStores,
};

use super::whole_over_temporal::WholeOverTemporal;

fn notebook(opened: &OpenStores) -> Notebook {
    Notebook::new(opened.stores.clone())
}

impl Access {
    pub(super) async fn list(&self, input: ListMemoryInput) -> anyhow::Result<ListedMemory> {
        match self {
            Self::Store(opened) => notebook(opened).list(input).await.map_err(failed),
            Self::Temporal(remote) => remote.call(ListMemory, input).await,
        }
    }

    /// The whole note, as far as this way carries it.
    pub(super) async fn read(
        &self,
        input: ReadMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryContent>> {
        match self {
            Self::Store(opened) => notebook(opened).read_whole(input).await.map_err(failed),
            Self::Temporal(remote) => remote.call(ReadMemory, input).await,
        }
    }

    pub(super) async fn search(
        &self,
        input: SearchMemoryInput,
    ) -> anyhow::Result<Outcome<MemoryMatches>> {
        match self {
            Self::Store(opened) => notebook(opened).search(input).await.map_err(failed),
            Self::Temporal(remote) => remote.call(SearchMemory, input).await,
        }
    }

    pub(super) async fn write(
        &self,
        input: WriteMemoryInput,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        match self {
            Self::Store(opened) => {
                let written = notebook(opened).write(input, &nobody()).await;
                written.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(WriteMemory, input).await,
        }
    }

    pub(super) async fn replace_whole(
        &self,
        input: ReplaceWhole,
    ) -> anyhow::Result<Outcome<WrittenMemory>> {
        match self {
            Self::Store(opened) => notebook(opened).replace_whole(input).await.map_err(failed),
            Self::Temporal(remote) => WholeOverTemporal(remote).replace_whole(input).await,
        }
    }

    pub(super) async fn delete(
        &self,
        input: DeleteMemoryInput,
    ) -> anyhow::Result<Outcome<DeletedMemory>> {
        match self {
            Self::Store(opened) => {
                let deleted = notebook(opened).delete(input, &nobody()).await;
                deleted.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(DeleteMemory, input).await,
        }
    }
}

/// What a note is expected to be, as the two ways take it.
pub(super) fn expected(version: Option<&str>) -> ExpectedNote {
    version.map_or(ExpectedNote::Any, |version| {
        ExpectedNote::Version(version.to_owned())
    })
}
