//! What is done with the memory of a scope, in both ways alike.

use notekeeper_activities::{Failure, Notebook};
use notekeeper_contract::Argument;
use notekeeper_domain::LISTED_MAX;
use temporalio_common::ActivityDefinition;

use super::{Access, failed};

impl Access {
    /// Does what an activity does: by a notebook over the store, or by a worker.
    pub(crate) async fn carry_out<A, I>(
        &self,
        activity: A,
        input: I,
        here: impl AsyncFnOnce(Notebook, I) -> Result<A::Output, Failure>,
    ) -> anyhow::Result<A::Output>
    where
        A: ActivityDefinition<Input = Argument<I>>,
    {
        match self {
            Self::Store(opened) => {
                let notebook = Notebook::new(opened.stores.clone());
                here(notebook, input).await.map_err(failed)
            }
            Self::Temporal(remote) => remote.call(activity, input).await,
        }
    }
}

/// As many entries of a list as are asked for, in as many answers as it takes, and whether there are
/// more. `ask` is given what to go on behind, and how many an answer is to have at most.
pub(crate) async fn as_many_as_asked<E>(
    mut after: Option<String>,
    limit: usize,
    name: impl Fn(&E) -> &str,
    ask: impl AsyncFn(Option<String>, usize) -> anyhow::Result<(Vec<E>, bool)>,
) -> anyhow::Result<(Vec<E>, bool)> {
    let mut entries = Vec::new();
    loop {
        let left = limit.saturating_sub(entries.len());
        let (answered, more) = ask(after, left.min(LISTED_MAX)).await?;
        // A store that says that there are more and has none to give isn't asked for ever.
        let goes_on = more && !answered.is_empty();
        entries.extend(answered);
        after = match entries.last() {
            Some(last) if goes_on && entries.len() < limit => Some(name(last).to_owned()),
            _ => return Ok((entries, more)),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Lists the numbers up to `last`; and how many each answer was to have.
    async fn listed(last: usize, limit: usize) -> (usize, bool, Vec<usize>) {
        let asked = RefCell::new(Vec::new());
        let ask = async |after: Option<String>, most: usize| {
            asked.borrow_mut().push(most);
            let from = after.map_or(1, |after| after.parse::<usize>().expect("a number") + 1);
            let to = last.min(from + most - 1);
            let numbers = (from..=to).map(|number| number.to_string());
            Ok((numbers.collect(), to < last))
        };
        let (entries, more) = as_many_as_asked(None, limit, String::as_str, ask)
            .await
            .expect("a list");
        let expected: Vec<_> = (1..=entries.len()).map(|it| it.to_string()).collect();
        assert_eq!(entries, expected);
        (entries.len(), more, asked.into_inner())
    }

    #[tokio::test]
    async fn a_list_is_as_long_as_it_was_asked_for_in_answers_that_can_carry_it() {
        assert_eq!(listed(3, 2).await, (2, true, vec![2]));
        assert_eq!(listed(3, 3).await, (3, false, vec![3]));
        assert_eq!(listed(0, 3).await, (0, false, vec![3]));
        assert_eq!(
            listed(3_000, 2_500).await,
            (2_500, true, vec![1_000, 1_000, 500])
        );
        assert_eq!(
            listed(1_500, 5_000).await,
            (1_500, false, vec![1_000, 1_000])
        );
    }

    #[tokio::test]
    async fn a_list_that_says_that_there_are_more_and_has_none_ends() {
        let asked = RefCell::new(0);
        let ask = async |after: Option<String>, _: usize| {
            *asked.borrow_mut() += 1;
            let first = after.is_none().then(|| "a".to_owned());
            Ok((first.into_iter().collect(), true))
        };
        let (entries, more) = as_many_as_asked(None, 9, String::as_str, ask)
            .await
            .expect("a list");
        assert_eq!(
            (entries, more, asked.into_inner()),
            (vec!["a".to_owned()], true, 2)
        );
    }
}
