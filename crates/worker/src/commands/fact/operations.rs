//! What is done with facts, in both ways alike.

use notekeeper_contract::{
    Forget, ForgetInput, Forgotten, ListFacts, ListFactsInput, ListFactsOutput, Outcome, Recall,
    RecallInput, RecallOutput, Remember, RememberInput, Remembered,
};

use crate::commands::access::{Access, as_many_as_asked, nobody};

impl Access {
    pub(super) async fn remember(
        &self,
        input: RememberInput,
    ) -> anyhow::Result<Outcome<Remembered>> {
        self.carry_out(Remember, input, async |notebook, input| {
            notebook.remember(input, &nobody()).await
        })
        .await
    }

    pub(super) async fn forget(&self, input: ForgetInput) -> anyhow::Result<Outcome<Forgotten>> {
        self.carry_out(Forget, input, async |notebook, input| {
            notebook.forget(input, &nobody()).await
        })
        .await
    }

    pub(super) async fn recall(&self, input: RecallInput) -> anyhow::Result<RecallOutput> {
        self.carry_out(Recall, input, async |notebook, input| {
            notebook.recall(input).await
        })
        .await
    }

    /// Facts of one answer.
    pub(super) async fn facts(&self, input: ListFactsInput) -> anyhow::Result<ListFactsOutput> {
        self.carry_out(ListFacts, input, async |notebook, input| {
            notebook.list_facts(input).await
        })
        .await
    }

    /// As many facts as are asked for, in as many answers as it takes.
    pub(super) async fn facts_up_to(
        &self,
        input: ListFactsInput,
    ) -> anyhow::Result<ListFactsOutput> {
        let ask = async |after, limit| {
            let input = ListFactsInput {
                after,
                limit,
                ..input.clone()
            };
            let answer = self.facts(input).await?;
            Ok((answer.facts, answer.more))
        };
        let (after, limit) = (input.after.clone(), input.limit);
        let (facts, more) = as_many_as_asked(after, limit, |fact| &fact.key, ask).await?;
        Ok(ListFactsOutput { facts, more })
    }
}
