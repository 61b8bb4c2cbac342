//! What is done with facts, in both ways alike.

use notekeeper_activities::Notebook;
use notekeeper_contract::{
    Forget, ForgetInput, Forgotten, ListFacts, ListFactsInput, ListFactsOutput, Outcome, Recall,
    RecallInput, RecallOutput, Remember, RememberInput, Remembered,
};
use notekeeper_domain::LISTED_MAX;

use crate::commands::access::{Access, failed, nobody};

impl Access {
    pub(super) async fn remember(
        &self,
        input: RememberInput,
    ) -> anyhow::Result<Outcome<Remembered>> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.remember(input, &nobody()).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(Remember, input).await,
        }
    }

    pub(super) async fn forget(&self, input: ForgetInput) -> anyhow::Result<Outcome<Forgotten>> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.forget(input, &nobody()).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(Forget, input).await,
        }
    }

    pub(super) async fn recall(&self, input: RecallInput) -> anyhow::Result<RecallOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.recall(input).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(Recall, input).await,
        }
    }

    /// Facts of one answer.
    pub(super) async fn facts(&self, input: ListFactsInput) -> anyhow::Result<ListFactsOutput> {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                notebook.list_facts(input).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(ListFacts, input).await,
        }
    }

    /// As many facts as are asked for, in as many answers as it takes.
    pub(super) async fn facts_up_to(
        &self,
        mut input: ListFactsInput,
    ) -> anyhow::Result<ListFactsOutput> {
        let mut listed = ListFactsOutput::default();
        let mut left = input.limit;
        loop {
            input.limit = left.min(LISTED_MAX);
            let answer = self.facts(input.clone()).await?;
            left -= answer.facts.len().min(left);
            listed.facts.extend(answer.facts);
            listed.more = answer.more;
            match listed.facts.last() {
                Some(last) if answer.more && left > 0 => input.after = Some(last.key.clone()),
                _ => return Ok(listed),
            }
        }
    }
}
